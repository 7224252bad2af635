#include "lower/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "onward/error.h"
#include "ops/infer_step.h"
#include "ops/op_def.h"
#include "opset/lift.h"

namespace onward {
namespace {

/// ONNX Runtime computes a batch's running statistics into the memory of the old ones, which the
/// inference graph's normalization, or the caller, may still read.
bool overwrites_inputs(const Node& node) {
  return node.domain.empty() && node.op == "BatchNormalization" &&
         node.int_or("training_mode", 0) != 0;
}

/// The training domain is the standard's, but no runtime has its operators.
bool is_plain(const Node& node) {
  return node.domain != kTrainingDomain && newest_opset(node.domain).has_value() &&
         !overwrites_inputs(node);
}

std::vector<Expr> expansion_of(const Node& node, Builder& builder) {
  try {
    return find_op_def(node)->expansion(ExpandContext(node, builder));
  } catch (Error& error) {
    error.add_context(fmt::format("in node '{}' ({})", node.label(), node.op));
    error.add_context("to be lowered, a model must declare the shapes of its inputs");
    throw;
  }
}

void expand(Graph& graph, Node& node, Names& names) {
  Builder builder(graph, &node, names, node.label() + "_");
  replace_node(node, expansion_of(node, builder));
}

/// Expansions may use internal operators again; false once nothing was left to expand.
bool expand_once(Model& step) {
  Graph& graph = *step.graph;
  Names names(step);
  bool any = false;
  for (auto at = graph.nodes().begin(); at != graph.nodes().end();) {
    Node& node = **at++;
    const OpDef* definition = find_op_def(node);
    if (is_plain(node) || !definition || !definition->expansion) continue;
    expand(graph, node, names);
    any = true;
  }
  return any;
}

void refuse_what_is_left(const Graph& graph) {
  std::set<std::string> left;
  for_each_node(graph, [&](const Node& node) {
    if (is_plain(node)) return;
    left.insert(fmt::format("{}.{} (node '{}')", node.domain, node.op, node.label()));
  });
  if (!left.empty()) {
    throw Error(fmt::format("some operators can't be said in those of the standard: {}",
                            fmt::join(left, ", ")));
  }
}

}  // namespace

void replace_node(Node& node, std::span<const Expr> results) {
  Graph& graph = node.graph();
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    Value* output = node.output(i);
    if (!output) continue;
    Value* result = results[i].value();
    graph.replace_uses(output, result);
    const bool is_passed_on = std::ranges::find(node.inputs(), result) != node.inputs().end();
    if (is_passed_on) continue;
    const std::string name = output->name();
    result->type = output->type;
    graph.rename(output, "");
    graph.rename(result, name);
  }
  graph.remove_node(&node);
}

void expand_to_standard(Model& step) {
  do {
    infer_step_types(step);  // expansions look at ranks and sizes
  } while (expand_once(step));
  refuse_what_is_left(*step.graph);
}

}  // namespace onward
