#include "ir/clone.h"

namespace onward {
namespace {

std::unique_ptr<Graph> clone_subgraph(const Graph& from, Graph& inside, ValueMap& map) {
  auto graph = std::make_unique<Graph>(&inside);
  graph->name = from.name;
  graph->doc = from.doc;
  graph->metadata = from.metadata;
  graph->annotations = from.annotations;
  clone_into(from, *graph, map);
  for (Value* output : from.outputs()) graph->add_output(mapped(map, output));
  return graph;
}

/// Copies an attribute's value; most kinds are values already.
struct PayloadCloner {
  Graph& inside;
  ValueMap& map;

  template <typename T>
  Attribute::Payload operator()(const T& value) const {
    return value;
  }
  Attribute::Payload operator()(const std::unique_ptr<Graph>& graph) const {
    return clone_subgraph(*graph, inside, map);
  }
  Attribute::Payload operator()(const Attribute::Graphs& graphs) const {
    Attribute::Graphs copies;
    for (const auto& graph : graphs) copies.push_back(clone_subgraph(*graph, inside, map));
    return copies;
  }
  Attribute::Payload operator()(const References& references) const {
    References copy = references;
    for (Value*& value : copy.values) value = mapped(map, value);
    return copy;
  }
};

void copy_notes(const Value& from, Value& to) {
  to.type = from.type;
  to.declared = from.declared;
  to.doc = from.doc;
  to.metadata = from.metadata;
}

}  // namespace

Value* mapped(const ValueMap& map, Value* value) {
  const auto found = map.find(value);
  return found == map.end() ? value : found->second;
}

Node* clone_node(const Node& node, Graph& to, ValueMap& map, Node* before) {
  std::vector<Value*> inputs;
  for (Value* input : node.inputs()) inputs.push_back(input ? mapped(map, input) : nullptr);
  Node* copy = to.add_node(node.op, std::move(inputs), before);
  copy->domain = node.domain;
  copy->overload = node.overload;
  copy->opset = node.opset;
  copy->name = node.name;
  copy->doc = node.doc;
  copy->metadata = node.metadata;
  copy->device_configurations = node.device_configurations;
  copy->function = node.function;
  for (const Attribute& attribute : node.attributes()) {
    copy->set_attribute({.name = attribute.name,
                         .value = std::visit(PayloadCloner{to, map}, attribute.value),
                         .doc = attribute.doc});
  }
  for (const auto& output : node.outputs()) {
    if (!output) {
      copy->add_output({});
      continue;
    }
    Value* value = copy->add_output(output->name());
    copy_notes(*output, *value);
    map[output.get()] = value;
  }
  return copy;
}

void clone_into(const Graph& from, Graph& to, ValueMap& map) {
  for (const Value* input : from.inputs()) {
    Value* copy = to.add_input(input->name(), input->type);
    copy_notes(*input, *copy);
    map[input] = copy;
  }
  for (const Value* value : from.initializers()) {
    if (value->is_input()) {
      to.set_initializer(map.at(value), *value->initializer());
      continue;
    }
    Value* copy = to.add_initializer(value->name(), *value->initializer());
    copy_notes(*value, *copy);
    map[value] = copy;
  }
  for (const auto& node : from.nodes()) clone_node(*node, to, map);
}

}  // namespace onward
