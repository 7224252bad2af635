#pragma once

// What rules of operators with subgraphs share.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/clone.h"
#include "ops/op_def.h"

namespace onward {

/// A node with graphs in its attributes, to be added.
struct SubgraphNode {
  std::string_view op;
  std::vector<Value*> inputs;
  std::vector<NamedAttribute> attributes = {};
  std::vector<std::pair<std::string, std::unique_ptr<Graph>>> graphs;
  std::vector<Type> outputs;
};

std::vector<Expr> add_subgraph_node(Builder& builder, SubgraphNode node);

/// Whether an operator draws random numbers: computed again, it would draw others.
bool draws_random_numbers(const Node& node);

/// A body's outputs must be computed in it: gives the value, or an Identity of one that is not.
Value* computed_inside(Builder& inside, Value* value);

/// A value with the size of a first dimension that is not known put before its own.
Type stacked_type(const Type& type);

/// The part of a subgraph that its backward computes again, in a graph of its own.
class Recomputed {
 public:
  /// `map` has what stands for the forward graph's inputs; all other nodes are copied. Throws Error
  /// for a node below the graph's own that draws random numbers, since these can't be kept.
  Recomputed(const Graph& forward, Graph& to, ValueMap map);

  /// What stands for a value of the forward graph, or of those around it.
  Value* of(Value* value) const { return mapped(map_, value); }

  /// Random numbers that are read here and must be those of the forward graph: the value there
  /// (which its node gives from now on), and the copy that is to be replaced.
  std::vector<std::pair<Value*, Value*>> random_reads(Builder& builder) const;

 private:
  ValueMap map_;
  std::vector<std::pair<Node*, Node*>> random_;  // the forward node, and its copy
};

/// The rule of Loop and Scan.
Grads iterated_vjp(const VjpContext& c);

/// Removes the nodes of a graph whose results nobody reads.
void drop_unread_nodes(Graph& graph);

/// Values around a node that its subgraphs read and that a gradient is asked for, each once.
std::vector<Value*> wanted_captures(const VjpContext& c);

}  // namespace onward
