#include "passes/step_part.h"

#include <algorithm>
#include <unordered_set>

#include "ir/clone.h"

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

}  // namespace

Model empty_like(const Model& model) {
  Model part;
  part.ir_version = model.ir_version;
  part.opsets = model.opsets;
  part.graph->name = model.graph->name;
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
