#include "recipe/initializers.h"

#include <algorithm>

#include "ir/rewrite.h"
#include "ir/sparse.h"
#include "ops/op_def.h"
#include "recipe/parameter_roles.h"
#include "recipe/parameters.h"

namespace onward {

bool is_constant_node(const Node& node) {
  return node.domain.empty() && node.op == "Constant" && node.get<Tensor>("value");
}

std::optional<std::vector<int64_t>> constant_integers(const Value* value) {
  if (!value) return std::nullopt;
  const Node* node = value->producer();
  const Tensor* tensor = value->tensor();
  if (node && is_constant_node(*node)) tensor = node->get<Tensor>("value");
  if (tensor) return is_integer(tensor->dtype()) ? std::optional(tensor->integers()) : std::nullopt;
  if (!node) return std::nullopt;
  if (node->inputs().empty()) {  // Constant, in its other forms
    if (const auto* list = node->get<std::vector<int64_t>>("value_ints")) return *list;
    const auto* single = node->get<int64_t>("value_int");
    return single ? std::optional(std::vector{*single}) : std::nullopt;
  }
  if (has_traits(*node, kView)) return constant_integers(node->input(0));
  if (node->op != "Concat" || !node->domain.empty() || rank(value) != 1) return std::nullopt;
  std::vector<int64_t> all;
  for (const Value* input : node->inputs()) {
    const auto part = constant_integers(input);
    if (!part) return std::nullopt;
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

namespace {

Value* constant_to_initializer(Graph& graph, Value* value) {
  Node* node = value->producer();
  const std::string name = value->name();
  Value* initializer = graph.add_initializer("", *node->get<Tensor>("value"));
  initializer->doc = value->doc;
  initializer->metadata = value->metadata;
  graph.replace_uses(value, initializer);
  graph.remove_node(node);
  graph.rename(initializer, name);
  return initializer;
}

/// Weights below a graph, taken out of the subgraphs that hold them.
class WeightLift {
 public:
  WeightLift(Model& model, const std::vector<std::string>& patterns)
      : model_(model), patterns_(patterns) {}

  size_t run() {
    below(*model_.graph);
    Names names(model_);
    for (auto& [value, name] : lifted_) model_.graph->rename(value, names.fresh(name));
    return lifted_.size();
  }

 private:
  void below(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      for (Graph* subgraph : node->subgraphs()) {
        below(*subgraph);
        lift(*subgraph);
      }
    }
  }

  void lift(Graph& graph) {
    const std::vector<Value*> initializers(graph.initializers().begin(),
                                           graph.initializers().end());
    for (Value* value : initializers) {
      if (value->is_input() || !is_weight(*value)) continue;
      replace(graph, value, *value->initializer());
      graph.remove_initializer(value);
    }
    std::vector<Node*> constants;
    for (const auto& node : graph.nodes()) {
      if (is_constant_node(*node) && is_weight(*node->output(0))) constants.push_back(node.get());
    }
    for (Node* node : constants) {
      replace(graph, node->output(0), Initializer(*node->get<Tensor>("value")));
      graph.remove_node(node);
    }
  }

  /// Not what a graph gives as it is: runtimes want its outputs to be computed inside.
  bool is_weight(const Value& value) const {
    if (!is_float(value.type.dtype)) return false;
    const auto outputs = value.graph().outputs();
    if (std::ranges::find(outputs, &value) != outputs.end()) return false;
    return role_of(value).role == TensorRole::parameter ||
           std::ranges::any_of(patterns_, [&](const std::string& pattern) {
             return matches(pattern, value.name());
           });
  }

  void replace(Graph& graph, Value* value, Initializer data) {
    Value* initializer = model_.graph->add_initializer("", std::move(data));
    initializer->doc = value->doc;
    initializer->metadata = value->metadata;
    graph.replace_uses(value, initializer);
    lifted_.emplace_back(initializer, value->name());
  }

  Model& model_;
  const std::vector<std::string>& patterns_;
  std::vector<std::pair<Value*, std::string>> lifted_;
};

}  // namespace

size_t lift_weights_of_subgraphs(Model& model, const std::vector<std::string>& patterns) {
  return WeightLift(model, patterns).run();
}

std::vector<Value*> as_initializers(Graph& graph, const std::vector<Value*>& values) {
  std::vector<Value*> initializers;
  for (Value* value : values) {
    if (!value->initializer()) {
      value = constant_to_initializer(graph, value);
    } else if (const SparseTensor* sparse = value->initializer()->sparse()) {
      graph.set_initializer(value, to_dense(*sparse));
      value->type = value->tensor()->type();
    }
    initializers.push_back(value);
  }
  return initializers;
}

void make_statistics_initializers(Graph& graph) {
  std::vector<Value*> statistics;
  for (const auto& node : graph.nodes()) {
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const InputRole role = input_role(*node, i);
      if (role != InputRole::running_mean && role != InputRole::running_variance) continue;
      Value* value = node->input(i);
      const bool listed =
          std::find(statistics.begin(), statistics.end(), value) != statistics.end();
      const bool constant = value && value->producer() && is_constant_node(*value->producer());
      const bool sparse = value && value->initializer() && value->initializer()->sparse();
      if (!listed && (constant || sparse)) statistics.push_back(value);
    }
  }
  as_initializers(graph, statistics);
}

}  // namespace onward
