#include "ops/op_def.h"
#include "passes/passes.h"

namespace onward {

void expand_optimizers(Model& step) {
  Names names(step);
  Graph& graph = *step.graph;
  for (auto at = graph.nodes().begin(); at != graph.nodes().end();) {
    Node& node = **at++;
    const OpDef* definition = find_op_def(node);
    if (node.domain != kTrainingDomain || !definition || !definition->expansion) continue;
    Builder builder(graph, &node, names, node.label() + "_");
    const std::vector<Expr> results = definition->expansion(ExpandContext(node, builder));
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (node.output(i)) graph.replace_uses(node.output(i), results.at(i).value());
    }
    graph.remove_node(&node);
  }
}

}  // namespace onward
