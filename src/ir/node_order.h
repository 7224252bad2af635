#pragma once

#include <unordered_map>

#include "ir/graph.h"

namespace onward {

/// The places of a graph's nodes, for a pass that lets a node read the result of another one. Nodes
/// may be removed while it is used, but neither added nor moved.
class NodeOrder {
 public:
  explicit NodeOrder(const Graph& graph) {
    for (const auto& node : graph.nodes()) places_.emplace(node.get(), places_.size());
  }

  /// Whether both are nodes of the graph itself, not of a subgraph, and `first` runs before
  /// `second`.
  bool runs_before(const Node& first, const Node& second) const {
    const auto a = places_.find(&first), b = places_.find(&second);
    return a != places_.end() && b != places_.end() && a->second < b->second;
  }

 private:
  std::unordered_map<const Node*, size_t> places_;
};

}  // namespace onward
