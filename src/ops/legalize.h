#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op_def.h"

namespace onward {

/// The operator, with its domain where that is another than ai.onnx.
std::string full_name(const Node& node);

/// Why a target does not take a node; empty where it does.
using Refuses = std::function<std::string(const Node&)>;

/// Who is to take a graph: kernels, an opset, a framework.
struct LegalizationTarget {
  /// What to say where nodes are left: "the step cannot be written in opset 13".
  std::string failure;
  Refuses refuses;
  /// What to do where an expansion does not suit a node; said once.
  std::string advice = {};
};

/// For targets that expand models as they were loaded.
inline constexpr const char* kDeclareShapes =
    "declare the shapes of the model's inputs, with names for sizes that are open";

/// Nodes of one operator that a target refuses for one reason.
struct RefusedNodes {
  std::string op;  // with its domain
  std::string reason;
  std::vector<std::string> nodes;
  bool has_expansion = false;  // one that does not suit these nodes
};
/// "nodes 'a', 'b' (Gelu): it exists since opset 20"
std::string to_string(const RefusedNodes& refusal);

/// Whether the operator can be written in plainer ones.
bool has_expansion(const Node& node);
bool has_expansion(std::string_view domain, std::string_view op);

/// The node in plainer operators: its outputs, in order. The types of its inputs must be inferred.
/// Throws Error where the expansion does not suit the node.
std::vector<Expr> expand_node(const Node& node, Builder& builder);

/// Puts what an expansion gives in the place of a node; results take over the outputs' names.
void replace_node(Model& model, Node& node, std::span<const Expr> results);

/// Replaces the nodes that `refuses` gives a reason for by their expansions, and what it refuses of
/// these by theirs, until all is taken. Where any is refused, types are completed on the way:
/// expansions look at them. Gives what is left: the model is of no use then. Expansions that lead
/// back to their own operators are a Bug.
std::vector<RefusedNodes> try_legalize(Model& model, const Refuses& refuses);

/// The same; throws an Error that names all that is left, with the reasons.
void legalize(Model& model, const LegalizationTarget& target);

}  // namespace onward
