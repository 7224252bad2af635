#include "ir/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace onward {

Names::Names(const Model& model) {
  for_each_top_level_graph(model, [this](const Graph& graph, GraphRole) { add(graph); });
}

void Names::add(const Graph& graph) {
  for (const Value* value : graph.inputs()) taken_.insert(value->name());
  for (const Value* value : graph.initializers()) taken_.insert(value->name());
  for (const Value* value : graph.outputs()) taken_.insert(value->name());
  for (const auto& node : graph.nodes()) {
    for (const Value* value : node->inputs()) {
      if (value) taken_.insert(value->name());
    }
    for (const auto& value : node->outputs()) {
      if (value) taken_.insert(value->name());
    }
    for (const Graph* subgraph : node->subgraphs()) add(*subgraph);
  }
}

std::string Names::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

void set_attribute(Node& node, std::string_view name, Attribute::Payload value) {
  node.set_attribute({.name = std::string(name), .value = std::move(value), .doc = {}});
}

Rewrite Rewrite::behind() const {
  Rewrite rewrite = *this;
  rewrite.is_behind_ = true;
  return rewrite;
}

std::string Rewrite::fresh(std::string_view role) const {
  const auto outputs = node_.outputs();
  const auto first = std::find_if(outputs.begin(), outputs.end(),
                                  [](const auto& output) { return output != nullptr; });
  const std::string base = first == outputs.end() ? node_.op : (*first)->name();
  return names_.fresh(fmt::format("{}_{}", base, role));
}

Value* Rewrite::add(std::string_view op, std::vector<Value*> inputs, std::string_view role) const {
  Node* added = node_.graph().add_node(op, std::move(inputs), is_behind_ ? nullptr : &node_);
  added->opset = newest_opset_;
  added->function = node_.function;
  return added->add_output(fresh(role));
}

Value* Rewrite::constant(const Tensor& value, std::string_view role) const {
  Value* constant = add("Constant", {}, role);
  constant->type = value.type();
  set_attribute(*constant->producer(), "value", value);
  return constant;
}

Value* Rewrite::constant(const std::vector<int64_t>& values, std::string_view role) const {
  return constant(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values), role);
}

Value* Rewrite::scalar_like(float value, Value* like, std::string_view role) const {
  const DType dtype = like->type.dtype;
  if (dtype == DType::f32) return constant(Tensor::scalar(value), role);
  if (dtype == DType::f64) return constant(Tensor::scalar<double>(value), role);
  Value* single = constant(Tensor::scalar(value), fmt::format("{}_f32", role));
  if (dtype == DType::undefined) return add("CastLike", {single, like}, role);
  Value* cast = add("Cast", {single}, role);
  cast->type = Type::tensor(dtype, Shape{});
  set_attribute(*cast->producer(), "to", static_cast<int64_t>(dtype));
  return cast;
}

void Rewrite::become(std::string_view op, std::vector<Value*> inputs, const Value* heart) {
  Node& maker = *heart->producer();
  maker.name = std::exchange(node_.name, {});
  maker.doc = std::exchange(node_.doc, {});
  maker.metadata = std::exchange(node_.metadata, {});
  maker.device_configurations = std::exchange(node_.device_configurations, {});
  while (!node_.attributes().empty()) {
    node_.remove_attribute(std::string(node_.attributes().back().name));
  }
  node_.set_op(op);
  node_.opset = newest_opset_;
  node_.set_inputs(std::move(inputs));
}

void compute_outputs_inside(Graph& graph, Names& names, int64_t opset) {
  for (const auto& node : graph.nodes()) {
    for (Graph* subgraph : node->subgraphs()) {
      compute_outputs_inside(*subgraph, names, opset);
      std::unordered_set<const Value*> given;
      for (size_t i = 0; i < subgraph->outputs().size(); ++i) {
        Value* output = subgraph->outputs()[i];
        const bool is_computed = &output->graph() == subgraph && output->producer();
        if (is_computed && given.insert(output).second) continue;
        Node* identity = subgraph->add_node("Identity", {output});
        identity->opset = opset;
        Value* inside = identity->add_output(names.fresh(output->name() + "_inside"), output->type);
        subgraph->set_output(i, inside);
      }
    }
  }
}

std::optional<int64_t> rank(const Value* value) {
  if (!value || !value->type.is_tensor() || !value->type.shape) return std::nullopt;
  return static_cast<int64_t>(value->type.shape->size());
}

bool is_needed(const Value& value) {
  const auto outputs = value.graph().outputs();
  return !value.uses().empty() ||
         std::find(outputs.begin(), outputs.end(), &value) != outputs.end();
}

}  // namespace onward
