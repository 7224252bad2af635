#include "train/step_parts.h"

#include <algorithm>
#include <unordered_set>

#include "grad/differentiate.h"
#include "infer/infer.h"
#include "ir/clone.h"
#include "ir/rewrite.h"
#include "ops/op_def.h"
#include "opset/lift.h"

namespace onward {
namespace {

/// The values that are needed, found from the last node to the first.
class Needed {
 public:
  void add(const Value* value) {
    if (value) values_.insert(value);
  }
  bool has(const Value* value) const { return value && values_.contains(value); }

  bool any_output_of(const Node& node) const {
    return std::ranges::any_of(node.outputs(), [&](const auto& each) { return has(each.get()); });
  }

  /// All that a node reads: inputs, values named by attributes, and what its subgraphs read.
  void add_what_is_read_by(const Node& node) {
    for (const Value* input : node.inputs()) add(input);
    for (const Attribute& attribute : node.attributes()) {
      const auto* references = std::get_if<References>(&attribute.value);
      if (!references) continue;
      for (const Value* value : references->values) add(value);
    }
    for (const Graph* subgraph : node.subgraphs()) {
      for (const Value* output : subgraph->outputs()) add(output);
      for (const auto& inner : subgraph->nodes()) add_what_is_read_by(*inner);
    }
  }

 private:
  std::unordered_set<const Value*> values_;
};

Model empty_like(const Model& model) {
  Model part;
  part.ir_version = model.ir_version;
  part.opsets = model.opsets;
  part.graph->name = model.graph->name;
  return part;
}

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

Model part_for(const Model& step, std::span<Value* const> outputs, Updates updates) {
  std::vector<Binding> bindings;
  if (updates == Updates::kept && !step.training.empty()) {
    bindings = step.training[0].update_bindings;
  }
  Needed needed;
  for (const Value* output : outputs) needed.add(output);
  for (const Binding& binding : bindings) {
    needed.add(binding.source);
    needed.add(binding.target);
  }
  std::vector<const Node*> nodes;  // last first
  for (auto node = step.graph->nodes().rbegin(); node != step.graph->nodes().rend(); ++node) {
    if (!needed.any_output_of(**node)) continue;
    needed.add_what_is_read_by(**node);
    nodes.push_back(node->get());
  }

  Model part = empty_like(step);
  ValueMap map;
  for (const Value* input : step.graph->inputs()) {
    if (needed.has(input)) map[input] = part.graph->add_input(input->name(), input->type);
  }
  for (const Value* value : step.graph->initializers()) {
    if (!needed.has(value)) continue;
    if (value->is_input()) {
      part.graph->set_initializer(map.at(value), *value->initializer());
    } else {
      map[value] = part.graph->add_initializer(value->name(), *value->initializer());
      map[value]->type = value->type;
    }
  }
  std::for_each(nodes.rbegin(), nodes.rend(),
                [&](const Node* node) { clone_node(*node, *part.graph, map); });
  for (Value* output : outputs) part.graph->add_output(mapped(map, output));
  part.training.emplace_back();
  for (const Binding& binding : bindings) {
    part.training[0].update_bindings.push_back(
        {mapped(map, binding.target), mapped(map, binding.source)});
  }
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

Value* find_value(const Model& step, std::string_view name) {
  for (Value* input : step.graph->inputs()) {
    if (input->name() == name) return input;
  }
  for (Value* initializer : step.graph->initializers()) {
    if (initializer->name() == name) return initializer;
  }
  for (const auto& node : step.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (output && output->name() == name) return output.get();
    }
  }
  return nullptr;
}

}  // namespace onward
