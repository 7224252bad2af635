#include "train/step_parts.h"

#include "grad/differentiate.h"
#include "infer/infer.h"
#include "ir/clone.h"
#include "ir/rewrite.h"
#include "ops/op_def.h"
#include "opset/lift.h"

namespace onward {
namespace {

/// Puts a BatchNormalization that uses the statistics it is given in the place of one that computes
/// the batch's; its other outputs are the running statistics, which then do not change.
void use_given_statistics(Node& node, Names& names) {
  Graph& graph = node.graph();
  Node* by = graph.add_node(node.op, {node.inputs().begin(), node.inputs().end()}, &node);
  by->opset = node.opset;
  by->name = node.name;
  for (const char* name : {"epsilon", "momentum"}) {
    if (const auto* value = node.get<float>(name)) set_attribute(*by, name, *value);
  }
  Value* old = node.output(0);
  Value* y = by->add_output(names.fresh(old->name()), old->type);
  graph.replace_uses(old, y);
  const std::string name = old->name(), other = y->name();
  graph.rename(old, "");
  graph.rename(y, name);
  graph.rename(old, other);
}

}  // namespace

Model graph_alone(const Model& model, const Graph& graph) {
  Model part = empty_like(model);
  ValueMap map;
  clone_into(graph, *part.graph, map);
  for (Value* output : graph.outputs()) part.graph->add_output(mapped(map, output));
  lift(part);
  Problems problems;
  infer_types(part, problems);
  problems.throw_if_errors();
  replace_gradients(part);  // any graph may hold one, not only an algorithm
  return part;
}

void use_inference_mode(Model& step) {
  Names names(step);
  std::vector<Node*> nodes;
  for_each_node(*step.graph, [&](Node& node) { nodes.push_back(&node); });
  for (Node* node : nodes) {
    if (!is_in_training(*node)) continue;
    if (input_role(*node, 3) == InputRole::running_mean) {
      use_given_statistics(*node, names);
    } else {
      node->set_inputs({node->input(0)});  // of Dropout neither ratio nor training_mode
    }
  }
}

}  // namespace onward
