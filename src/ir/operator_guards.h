#pragma once

#include <optional>

#include "ir/graph.h"
#include "ir/infer_guards.h"
#include "ir/propagate.h"

namespace onward {

/// The guards of single operators, whose rules crash, hang or overflow on what these refuse. Inputs
/// and attributes are present, and of the type that the schema wants.
std::optional<Refusal> guard_operator(const Node& node, const KnownData& known);

}  // namespace onward
