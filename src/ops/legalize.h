#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ops/op_def.h"

namespace onward {

/// Who is to take a graph: the rules of gradients, kernels, an opset, a framework.
struct LegalizationTarget {
  std::string name;  // for messages: "opset 13"
  /// Why it does not take a node; empty where it does.
  std::function<std::string(const Node&)> refuses;
  /// What to do where an expansion does not suit a node.
  std::string advice = {};
};

/// Whether the operator can be written in plainer ones.
bool has_expansion(const Node& node);
bool has_expansion(std::string_view domain, std::string_view op);

/// The node in plainer operators: its outputs, in order. The types of its inputs must be inferred.
/// Throws Error where the expansion does not suit the node.
std::vector<Expr> expand_node(const Node& node, Builder& builder);

/// Puts what an expansion gives in the place of a node; results take over the outputs' names.
void replace_node(Model& model, Node& node, std::span<const Expr> results);

/// Replaces the nodes that the target refuses by their expansions, and what it refuses of these by
/// theirs, until it takes all. Where it refuses any, types are completed on the way: expansions
/// look at them. Throws an Error that names every node that is left, with the reasons.
void legalize(Model& model, const LegalizationTarget& target);

}  // namespace onward
