#pragma once

#include <optional>
#include <string>

#include "ir/model.h"
#include "ops/op_def.h"

namespace onward {

/// Whether the standard defines the operator, in its newest form, by a function of other operators.
bool has_function_body(const std::string& domain, const std::string& op);

/// That function for the types and attributes of a node, lifted to the newest opset: a graph whose
/// inputs are the node's inputs that are there, in order, and whose outputs are its outputs that
/// are. Throws Error where the standard has no body for just this node.
Model function_body(const Node& node);

/// An expansion for OpDef: that body. Not for operators whose body casts to float32, cancels, or
/// needs a rank.
std::vector<Expr> standard_body(const ExpandContext& c);

}  // namespace onward
