#pragma once

#include <unordered_map>
#include <vector>

#include "eval/kernel.h"
#include "ir/model.h"

namespace onward::eval {

/// What each value is while a graph runs.
using Environment = std::unordered_map<const Value*, RuntimeValue>;

/// Runs all nodes of a graph, one after the other, with the reference kernels. `environment` holds
/// the graph's inputs, and afterwards every value; initializers are taken from the graph where it
/// has none.
void run_graph(const Graph& graph, Environment& environment, const Surroundings& around);
inline void run_graph(const Graph& graph, Environment& environment, const RandomKey& random = {}) {
  run_graph(graph, environment, Surroundings{.random = random});
}

/// Runs a graph inside of a node, node by node, and those inside of it by `inner`.
std::vector<RuntimeValue> interpret_subgraph(const SubgraphRunner::Call& call,
                                             const SubgraphRunner& inner);

/// The outputs, in order, of a graph that gives tensors, for these inputs.
std::vector<Tensor> outputs_of(const Graph& graph, Environment environment,
                               const RandomKey& random = {});

/// Every operator that nothing computes and that `wanted` values of the graph need, each with a
/// node of it: "Einsum (node 'scores')".
std::vector<std::string> unknown_operators(const Graph& graph, std::span<Value* const> wanted);

/// Throws an Error that names all of them that the graph's outputs need.
void refuse_unknown_operators(const Graph& graph);

}  // namespace onward::eval
