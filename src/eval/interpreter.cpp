#include "eval/interpreter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <unordered_set>

#include "infer/operator_guards.h"
#include "ir/clone.h"
#include "ir/dependence.h"
#include "ops/legalize.h"

namespace onward::eval {
namespace {

/// An operator without a kernel of its own is run by way of its expansion: what it means.
std::vector<Tensor> run_expansion(const Node& node, std::span<const Tensor* const> inputs,
                                  const RandomKey& random) {
  Model scratch;
  Graph& graph = *scratch.graph;
  ValueMap map;
  Environment environment;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || map.contains(node.input(i))) continue;
    Value* value = graph.add_input(fmt::format("input_{}", i), inputs[i]->type());
    map[node.input(i)] = value;
    environment.emplace(value, *inputs[i]);
  }
  Node* copy = clone_node(node, graph, map);
  Names names(scratch);
  Builder builder(graph, copy, names);
  const std::vector<Expr> results = expand_node(*copy, builder);
  graph.remove_node(copy);
  run_graph(graph, environment, random);
  std::vector<Tensor> outputs;
  for (const Expr& result : results) {
    outputs.push_back(result.value() ? environment.at(result.value()) : Tensor());
  }
  return outputs;
}

}  // namespace

std::vector<Tensor> run_node(const Node& node, std::span<const Tensor* const> inputs,
                             const RandomKey& random) {
  try {
    if (const auto refusal = guard_operator(Operands(node, inputs))) throw Error(refusal->message);
    if (const KernelDef* found = find_kernel(node.domain, node.op)) {
      return found->kernel(Context(node, inputs, random));
    }
    if (has_expansion(node)) return run_expansion(node, inputs, random);
    throw Error("there is no kernel for this operator");
  } catch (Error& error) {
    std::string types;
    for (const Tensor* input : inputs) {
      types += (types.empty() ? "" : ", ") + (input ? to_string(input->type()) : "-");
    }
    error.add_context(fmt::format("in node '{}' ({}) of {}", node.label(), node.op, types));
    throw;
  }
}

void run_graph(const Graph& graph, Environment& environment, const RandomKey& random) {
  for (const Value* value : graph.initializers()) {
    if (value->tensor()) environment.emplace(value, *value->tensor());
  }
  for (const auto& node : graph.nodes()) {
    std::vector<const Tensor*> inputs;
    for (const Value* input : node->inputs()) {
      if (!input) {
        inputs.push_back(nullptr);
        continue;
      }
      const auto found = environment.find(input);
      if (found == environment.end()) {
        throw Error(fmt::format("input '{}' is not given", input->name()));
      }
      inputs.push_back(&found->second);
    }
    auto outputs = run_node(*node, inputs, random);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      const Value* output = node->output(i);
      if (!output) continue;
      if (i >= outputs.size()) {
        throw Bug(fmt::format("the kernel of {} gives no output {}", node->op, i));
      }
      environment.insert_or_assign(output, std::move(outputs[i]));
    }
  }
}

std::vector<std::string> unknown_operators(const Graph& graph, std::span<Value* const> wanted) {
  std::unordered_set<const Value*> needed(wanted.begin(), wanted.end());
  std::map<std::string, std::string> unknown;  // the first node of each
  for (auto at = graph.nodes().rbegin(); at != graph.nodes().rend(); ++at) {
    const Node& node = **at;
    const bool is_needed = std::ranges::any_of(
        node.outputs(), [&](const auto& output) { return needed.contains(output.get()); });
    if (!is_needed) continue;
    for (const Value* read : all_reads(node)) needed.insert(read);
    if (find_kernel(node.domain, node.op) || has_expansion(node)) continue;
    const std::string name = node.domain.empty() ? node.op : node.domain + "." + node.op;
    unknown[name] = fmt::format("{} (node '{}')", name, node.label());
  }
  const auto found = std::views::values(unknown);
  return {found.begin(), found.end()};
}

void refuse_unknown_operators(const Graph& graph) {
  const auto unknown = unknown_operators(graph, graph.outputs());
  if (unknown.empty()) return;
  throw Error(fmt::format("operators that can't be run yet: {}", fmt::join(unknown, ", ")));
}

std::vector<Tensor> outputs_of(const Graph& graph, Environment environment,
                               const RandomKey& random) {
  run_graph(graph, environment, random);
  std::vector<Tensor> outputs;
  for (const Value* output : graph.outputs()) outputs.push_back(environment.at(output));
  return outputs;
}

}  // namespace onward::eval
