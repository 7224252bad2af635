// Nodes that turn out to do nothing once shapes are known.

#include "ir/node_order.h"
#include "ops/op_def.h"
#include "passes/passes.h"

namespace onward {
namespace {

bool same_type(const Value& a, const Value& b) {
  const auto dims = static_dims(a);
  return dims && dims == static_dims(b) && a.type.dtype == b.type.dtype;
}

bool is_number(const PassContext& c, const Value* value, double number) {
  return uniform_number(c.constant(value)) == number;
}

/// The input that a node gives on unchanged, or null.
Value* unchanged_input(const PassContext& c, const Node& node) {
  if (!node.input(0) || !node.output(0)) return nullptr;
  if (has_traits(node, kKeepsSameType)) {
    return same_type(*node.input(0), *node.output(0)) ? node.input(0) : nullptr;
  }
  if (node.op == "Sum" && node.inputs().size() == 1) return node.input(0);
  if (node.op == "Mul") {
    for (const size_t one : {0U, 1U}) {
      Value* other = node.input(1 - one);
      if (is_number(c, node.input(one), 1) && same_type(*other, *node.output(0))) return other;
    }
  }
  if (node.op == "Div" && is_number(c, node.input(1), 1) &&
      same_type(*node.input(0), *node.output(0))) {
    return node.input(0);
  }
  return nullptr;
}

/// The shape of a broadcast of several shapes.
std::optional<std::vector<int64_t>> broadcast(const std::vector<std::vector<int64_t>>& shapes) {
  std::vector<int64_t> result;
  for (const auto& dims : shapes) {
    if (dims.size() > result.size()) result.insert(result.begin(), dims.size() - result.size(), 1);
    for (size_t i = 0; i < dims.size(); ++i) {
      int64_t& dim = result[result.size() - dims.size() + i];
      if (dim == 1) dim = dims[i];
    }
  }
  return result;
}

/// An elementwise node broadcasts its operands by itself: one that was expanded before is read as
/// it was, as long as another operand still gives the shape.
void skip_expands(Node& node) {
  for (size_t i = has_traits(node, kBroadcastsToFirst) ? 1 : 0; i < node.inputs().size(); ++i) {
    const Value* input = node.input(i);
    const Node* expand = input ? input->producer() : nullptr;
    if (!expand || expand->op != "Expand" || !expand->domain.empty()) continue;
    std::vector<std::vector<int64_t>> shapes;
    for (size_t j = 0; j < node.inputs().size(); ++j) {
      if (!node.input(j)) continue;
      const auto dims = static_dims(i == j ? *expand->input(0) : *node.input(j));
      if (!dims) return;
      shapes.push_back(*dims);
    }
    if (broadcast(shapes) == static_dims(*node.output(0))) node.set_input(i, expand->input(0));
  }
}

/// Relu's result is positive where its input is, so that the mask of the backward needs only the
/// result, and the input can be forgotten.
void mask_by_result(const PassContext& c, const NodeOrder& order, Node& node) {
  if (node.op != "Greater" || !node.domain.empty() || !is_number(c, node.input(1), 0)) return;
  for (const Use& use : node.input(0)->uses()) {
    if (use.node->op != "Relu" || !use.node->domain.empty()) continue;
    if (!order.runs_before(*use.node, node)) continue;
    node.set_input(0, use.node->output(0));
    return;
  }
}

}  // namespace

void simplify(PassContext& c) {
  const NodeOrder order(c.graph);
  for (auto at = c.graph.nodes().begin(); at != c.graph.nodes().end();) {
    Node& node = **at++;
    if (has_traits(node, kElementwise | kBroadcasts)) skip_expands(node);
    mask_by_result(c, order, node);
    if (Value* input = unchanged_input(c, node)) {
      c.graph.replace_uses(node.output(0), input);
      c.graph.remove_node(&node);
    }
  }
}

}  // namespace onward
