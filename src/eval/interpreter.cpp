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

/// Runs subgraphs node by node.
class Interpreter final : public SubgraphRunner {
 public:
  std::vector<RuntimeValue> run(const Call& call) const override {
    return interpret_subgraph(call, *this);
  }
};

const Interpreter kInterpreter;

/// An operator without a kernel of its own is run by way of its expansion: what it means.
std::vector<RuntimeValue> run_expansion(const Node& node,
                                        std::span<const RuntimeValue* const> inputs,
                                        const Surroundings& around) {
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
  // Nobody else may remember graphs that are gone in a moment.
  run_graph(graph, environment, {.random = around.random, .captured = around.captured});
  std::vector<RuntimeValue> outputs;
  for (const Expr& result : results) {
    outputs.push_back(result.value() ? environment.at(result.value()) : RuntimeValue());
  }
  return outputs;
}

std::string types_of(std::span<const RuntimeValue* const> inputs) {
  std::string types;
  for (const RuntimeValue* input : inputs) {
    types += (types.empty() ? "" : ", ") + (input ? to_string(input->type()) : "-");
  }
  return types;
}

std::vector<RuntimeValue> run_on_tensors(Kernel kernel, const Node& node,
                                         std::span<const RuntimeValue* const> inputs,
                                         const RandomKey& random) {
  std::vector<const Tensor*> tensors;
  for (const RuntimeValue* input : inputs) tensors.push_back(input ? &input->tensor() : nullptr);
  if (const auto refusal = guard_operator(Operands(node, tensors))) throw Error(refusal->message);
  std::vector<RuntimeValue> outputs;
  for (Tensor& output : kernel(Context(node, tensors, random)))
    outputs.push_back(std::move(output));
  return outputs;
}

std::vector<RuntimeValue> run_checked(const Node& node, std::span<const RuntimeValue* const> inputs,
                                      const Surroundings& around) {
  const bool takes_tensors =
      std::ranges::all_of(inputs, [](const RuntimeValue* v) { return !v || v->is_tensor(); });
  const KernelDef* found = find_kernel(node.domain, node.op);
  if (found && found->kernel && (takes_tensors || !found->of_values)) {
    return run_on_tensors(found->kernel, node, inputs, around.random);
  }
  if (takes_tensors) {
    std::vector<const Tensor*> tensors;
    for (const RuntimeValue* input : inputs) tensors.push_back(input ? &input->tensor() : nullptr);
    if (const auto refusal = guard_operator(Operands(node, tensors))) throw Error(refusal->message);
  }
  if (found) return found->of_values(ValueContext(node, inputs, around));
  if (has_expansion(node)) return run_expansion(node, inputs, around);
  throw Error("there is no kernel for this operator");
}

/// Operators of a node and of its subgraphs that nothing computes, each with its first node.
void add_unknown(const Node& node, std::map<std::string, std::string>& unknown) {
  for (const Graph* subgraph : node.subgraphs()) {
    for (const auto& inner : subgraph->nodes()) add_unknown(*inner, unknown);
  }
  if (find_kernel(node.domain, node.op) || has_expansion(node)) return;
  const std::string name = full_name(node);
  unknown[name] = fmt::format("{} (node '{}')", name, node.label());
}

}  // namespace

std::vector<RuntimeValue> interpret_subgraph(const SubgraphRunner::Call& call,
                                             const SubgraphRunner& inner) {
  Environment environment;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    environment.emplace(call.graph.inputs()[i], call.arguments[i]);
  }
  run_graph(call.graph, environment,
            {.random = call.random, .captured = call.captured, .subgraphs = &inner});
  std::vector<RuntimeValue> outputs;
  for (const Value* output : call.graph.outputs()) {
    const auto own = environment.find(output);
    const RuntimeValue* value = own != environment.end() ? &own->second : call.captured(*output);
    if (!value) throw Error(fmt::format("'{}' is not given", output->name()));
    outputs.push_back(*value);
  }
  return outputs;
}

int64_t ValueContext::integer(size_t index) const {
  const Tensor& tensor = input(index).tensor();
  if (tensor.size() != 1) {
    throw Error(fmt::format("input {} has {} elements instead of one", index, tensor.size()));
  }
  return tensor.integer(0);
}

const Graph& ValueContext::subgraph(std::string_view attribute) const {
  const auto* graph = node_.get<std::unique_ptr<Graph>>(attribute);
  if (!graph) throw Error(fmt::format("it has no graph '{}'", attribute));
  return **graph;
}

std::vector<RuntimeValue> ValueContext::run(const Graph& graph, std::vector<RuntimeValue> arguments,
                                            std::optional<int64_t> iteration) const {
  if (graph.inputs().size() < arguments.size()) {
    throw Error(fmt::format("its subgraph '{}' has {} inputs, but is given {}", graph.name,
                            graph.inputs().size(), arguments.size()));
  }
  const RandomKey random =
      iteration ? around_.random.in_iteration(static_cast<uint64_t>(*iteration)) : around_.random;
  const Lookup captured = around_.captured
                              ? around_.captured
                              : [](const Value&) -> const RuntimeValue* { return nullptr; };
  const SubgraphRunner& runner = around_.subgraphs ? *around_.subgraphs : kInterpreter;
  return runner.run({graph, std::move(arguments), captured, random});
}

std::vector<RuntimeValue> run_node(const Node& node, std::span<const RuntimeValue* const> inputs,
                                   const Surroundings& around) {
  try {
    return run_checked(node, inputs, around);
  } catch (Error& error) {
    error.add_context(
        fmt::format("in node '{}' ({}) of {}", node.label(), node.op, types_of(inputs)));
    throw;
  }
}

std::vector<Tensor> run_node(const Node& node, std::span<const Tensor* const> inputs,
                             const RandomKey& random) {
  std::vector<RuntimeValue> given;
  for (const Tensor* input : inputs) given.emplace_back(input ? *input : Tensor());
  std::vector<const RuntimeValue*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) pointers.push_back(inputs[i] ? &given[i] : nullptr);
  std::vector<Tensor> outputs;
  for (const RuntimeValue& output : run_node(node, pointers, {.random = random})) {
    outputs.push_back(output.tensor());
  }
  return outputs;
}

void run_graph(const Graph& graph, Environment& environment, const Surroundings& around) {
  for (const Value* value : graph.initializers()) {
    if (value->tensor()) environment.emplace(value, *value->tensor());
  }
  const Lookup find = [&](const Value& value) -> const RuntimeValue* {
    const auto found = environment.find(&value);
    if (found != environment.end()) return &found->second;
    return around.captured ? around.captured(value) : nullptr;
  };
  const Surroundings inside{
      .random = around.random, .captured = find, .subgraphs = around.subgraphs};
  for (const auto& node : graph.nodes()) {
    std::vector<const RuntimeValue*> inputs;
    for (const Value* input : node->inputs()) {
      inputs.push_back(input ? find(*input) : nullptr);
      if (input && !inputs.back()) {
        throw Error(fmt::format("input '{}' is not given", input->name()));
      }
    }
    auto outputs = run_node(*node, inputs, inside);
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
    add_unknown(node, unknown);
  }
  const auto found = std::views::values(unknown);
  return {found.begin(), found.end()};
}

void refuse_unknown_operators(const Graph& graph) {
  const auto unknown = unknown_operators(graph, graph.outputs());
  if (unknown.empty()) return;
  throw Error(fmt::format("operators that can't be run yet: {}", fmt::join(unknown, ", ")),
              ErrorCode::unsupported);
}

std::vector<Tensor> outputs_of(const Graph& graph, Environment environment,
                               const RandomKey& random) {
  run_graph(graph, environment, random);
  std::vector<Tensor> outputs;
  for (const Value* output : graph.outputs()) outputs.push_back(environment.at(output).tensor());
  return outputs;
}

}  // namespace onward::eval
