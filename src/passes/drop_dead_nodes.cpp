#include <algorithm>

#include "passes/passes.h"

namespace onward {

void drop_dead_nodes(PassContext& c) {
  for (auto at = c.graph.nodes().end(); at != c.graph.nodes().begin();) {
    Node& node = **--at;
    const bool needed = std::ranges::any_of(
        node.outputs(), [](const auto& output) { return output && is_needed(*output); });
    if (needed) continue;
    ++at;
    c.graph.remove_node(&node);
  }
}

}  // namespace onward
