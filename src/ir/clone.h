#pragma once

#include <unordered_map>

#include "ir/model.h"

namespace onward {

/// Where each copied value went.
using ValueMap = std::unordered_map<const Value*, Value*>;

/// The copy of a value, or the value itself where it was not copied (it lies around the copied
/// part).
Value* mapped(const ValueMap& map, Value* value);

/// Copies a node with its attributes and subgraphs to the end of `to`, or before `before`; reads
/// what `map` says, and adds its outputs to it. Names are kept.
Node* clone_node(const Node& node, Graph& to, ValueMap& map, Node* before = nullptr);

/// Copies inputs, initializers and nodes of a graph to the end of another; outputs are left to the
/// caller.
void clone_into(const Graph& from, Graph& to, ValueMap& map);

}  // namespace onward
