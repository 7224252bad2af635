#pragma once

#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace onward {

using ValueSet = std::unordered_set<const Value*>;

/// The values around a node that its subgraphs read.
std::vector<Value*> outer_reads(const Node& node);

/// All values that a node's outputs are computed from: its inputs, what its subgraphs read around
/// it, and for Gradient the value that it differentiates.
std::vector<Value*> all_reads(const Node& node);

/// These values and all that is computed from them in `graph`.
ValueSet with_results(const Graph& graph, ValueSet values);

/// Whether no gradient passes that input of the operator: by the standard's tags, but for inputs
/// that these take for settings and results follow all the same (Clip's limits, class weights).
bool stops_gradient(const Node& node, size_t input);

/// `value` and everything that it is computed from.
ValueSet dependencies(const Value* value);

/// The part of `dependencies` that a gradient of `value` reaches, by the standard's tags.
ValueSet gradient_reach(const Value* value);

/// The nodes at which every gradient from `value` towards `target` stops; empty where one arrives.
std::vector<const Node*> gradient_stops(const Value* value, const Value* target);

}  // namespace onward
