#include "ops/subgraph.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dependence.h"
#include "onward/error.h"
#include "ops/gradient_values.h"

namespace onward {
namespace {

void refuse_random_numbers_below(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (const Graph* subgraph : node->subgraphs()) {
      for_each_node(*subgraph, [](const Node& inner) {
        if (!draws_random_numbers(inner)) return;
        throw Error(
            fmt::format("{} (node '{}') draws random numbers in a graph inside of another, "
                        "which can't be kept for the gradient",
                        inner.op, inner.label()));
      });
    }
  }
}

}  // namespace

std::vector<Expr> add_subgraph_node(Builder& builder, SubgraphNode described) {
  const std::vector<Expr> outputs =
      builder.add_many(described.op, "", std::move(described.inputs),
                       std::vector(described.outputs.size(), DType::f32), described.attributes);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].value()->type = std::move(described.outputs[i]);
  }
  Node& node = *outputs.at(0).value()->producer();
  for (auto& [name, graph] : described.graphs) set_attribute(node, name, std::move(graph));
  return outputs;
}

bool draws_random_numbers(const Node& node) {
  const OpDef* definition = find_op_def(node);
  return definition && definition->has(kRandom) &&
         (!definition->trains || definition->trains(node));
}

Value* computed_inside(Builder& inside, Value* value) {
  const bool computed = value->producer() && &value->graph() == &inside.graph();
  return computed ? value : inside.add_value("Identity", {value}, value->type).value();
}

Type stacked_type(const Type& type) {
  Type stacked = type;
  if (stacked.shape) stacked.shape->insert(stacked.shape->begin(), Dim{});
  return stacked;
}

Recomputed::Recomputed(const Graph& forward, Graph& to, ValueMap map) : map_(std::move(map)) {
  refuse_random_numbers_below(forward);
  for (const Value* value : forward.initializers()) {
    if (!value->is_input()) map_[value] = to.add_initializer(value->name(), *value->initializer());
  }
  for (const auto& node : forward.nodes()) {
    Node* copy = clone_node(*node, to, map_);
    if (draws_random_numbers(*node)) random_.emplace_back(node.get(), copy);
  }
}

std::vector<std::pair<Value*, Value*>> Recomputed::random_reads(Builder& builder) const {
  std::vector<std::pair<Value*, Value*>> reads;
  for (const auto& [forward, copy] : random_) {
    for (size_t i = 0; i < copy->outputs().size(); ++i) {
      Value* output = copy->output(i);
      if (!output || !is_needed(*output)) continue;
      Value* drawn = forward->output(i);
      if (!drawn) {
        drawn = forward->set_output(i, builder.fresh(output->name() + "_drawn"), output->type);
      }
      reads.emplace_back(drawn, output);
    }
  }
  return reads;
}

void drop_unread_nodes(Graph& graph) {
  for (auto at = graph.nodes().end(); at != graph.nodes().begin();) {
    Node& node = **--at;
    const bool is_read = std::ranges::any_of(
        node.outputs(), [](const auto& output) { return output && is_needed(*output); });
    if (is_read) continue;
    ++at;
    graph.remove_node(&node);
  }
}

std::vector<Value*> wanted_captures(const VjpContext& c) {
  std::vector<Value*> captures;
  for (Value* value : outer_reads(c.node())) {
    const bool listed = std::ranges::find(captures, value) != captures.end();
    if (!listed && has_gradient(value->type) && c.differentiator().is_wanted(value)) {
      captures.push_back(value);
    }
  }
  return captures;
}

}  // namespace onward
