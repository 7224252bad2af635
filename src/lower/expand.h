#pragma once

#include <span>

#include "ir/model.h"
#include "ops/builder.h"

namespace onward {

/// Puts what an expansion gives in the place of a node; results take over the outputs' names.
void replace_node(Node& node, std::span<const Expr> results);

/// Says every internal operator and every optimizer in operators of the standard, and completes all
/// types. Throws an Error that names what can't be said.
void expand_to_standard(Model& step);

}  // namespace onward
