// Normalizations keep their statistics for the backward. Batch normalization takes a Relu that
// follows with it, there and back: what lies between the two is then neither written nor read.

#include <algorithm>

#include "ir/node_order.h"
#include "ops/builder.h"
#include "runtime/passes/fast_forms.h"
#include "runtime/passes/plan_passes.h"

namespace onward {
namespace {

bool is_batch_norm(const Node& node) {
  return (node.domain.empty() || node.domain == kInternalDomain) && node.op == "BatchNormalization";
}

bool trains(const Node& norm) { return norm.int_or("training_mode", 0) != 0; }

/// The normalization that a BatchNormGrad is the backward of, or null.
Node* forward_of(const NodeOrder& order, const Node& grad) {
  const bool frozen = grad.input(3) != nullptr;
  for (const Use& use : grad.input(1)->uses()) {
    Node& node = *use.node;
    if (use.input != 0 || !is_batch_norm(node) || trains(node) == frozen) continue;
    if (!order.runs_before(node, grad)) continue;
    if (node.input(1) != grad.input(2)) continue;
    if (node.float_or("epsilon", 1e-5F) != grad.float_or("epsilon", 1e-5F)) continue;
    if (frozen && (node.input(3) != grad.input(3) || node.input(4) != grad.input(4))) continue;
    return &node;
  }
  return nullptr;
}

/// The saved mean and inverse deviation of a normalization, which gives them from now on.
std::pair<Value*, Value*> saved_statistics(PassContext& c, Node& norm) {
  if (!norm.output(3)) {
    norm.domain = kInternalDomain;
    while (norm.outputs().size() < 3) norm.add_output("");
    for (const char* role : {"_mean", "_inverse"}) {
      norm.add_output(c.names.fresh(norm.output(0)->name() + role), norm.input(1)->type);
    }
  }
  return {norm.output(3), norm.output(4)};
}

bool is_zero(const PassContext& c, const Value* value) {
  return uniform_number(c.constant(value)) == 0;
}

bool is_given_out(const PassContext& c, const Value* value) {
  return std::ranges::find(c.graph.outputs(), value) != c.graph.outputs().end();
}

/// The Relu of the same graph that reads a normalization's result, or null.
Node* relu_after(const Node& norm) {
  for (const Use& use : norm.output(0)->uses()) {
    const bool is_relu = use.node->op == "Relu" && use.node->domain.empty();
    if (is_relu && &use.node->graph() == &norm.graph()) return use.node;
  }
  return nullptr;
}

/// The gradient with respect to Relu's result, where `dy` is what Relu lets through of it.
Value* before_mask(const PassContext& c, const Value* dy, const Node& norm, const Node& relu) {
  const Node* where = dy->producer();
  if (!where || where->op != "Where" || !where->domain.empty()) return nullptr;
  if (dy->uses().size() != 1 || is_given_out(c, dy)) return nullptr;
  const Node* mask = where->input(0)->producer();
  if (!mask || mask->op != "Greater" || !mask->domain.empty()) return nullptr;
  const bool of_relu = mask->input(0) == relu.output(0) || mask->input(0) == norm.output(0);
  if (!of_relu || !is_zero(c, mask->input(1)) || !is_zero(c, where->input(2))) return nullptr;
  const bool whole = static_dims(*where->input(1)) == static_dims(*dy);
  return whole ? where->input(1) : nullptr;
}

void pair_with_forward(PassContext& c, const NodeOrder& order, Node& grad) {
  if (grad.inputs().size() > 5) return;  // paired already
  Node* norm = forward_of(order, grad);
  if (!norm || !refuses_batch_norm(*norm).empty() || !refuses_batch_norm(grad).empty()) return;
  Value *dy = grad.input(0), *bias = nullptr;
  if (const Node* relu = relu_after(*norm)) {
    if (Value* before = before_mask(c, dy, *norm, *relu)) {
      dy = before;
      bias = norm->input(2);
      set_attribute(grad, "relu", int64_t{1});
    }
  }
  std::pair<Value*, Value*> saved;
  if (trains(*norm)) saved = saved_statistics(c, *norm);
  grad.set_inputs({dy, grad.input(1), grad.input(2), grad.input(3), grad.input(4), saved.first,
                   saved.second, bias});
}

/// Layer normalization gives its mean and inverse deviation to its backward.
void pair_layer_norm(PassContext& c, const NodeOrder& order, Node& grad) {
  if (grad.inputs().size() > 4) return;  // paired already
  const Value& x = *grad.input(1);
  for (const Use& use : x.uses()) {
    Node& norm = *use.node;
    if (use.input != 0 || norm.op != "LayerNormalization") continue;
    if (!norm.domain.empty() && norm.domain != kInternalDomain) continue;
    if (!order.runs_before(norm, grad)) continue;
    if (norm.int_or("axis", -1) != grad.int_or("axis", -1) ||
        norm.float_or("epsilon", 1e-5F) != grad.float_or("epsilon", 1e-5F)) {
      continue;
    }
    const auto dims = static_dims(x);
    if (!dims || (x.type.dtype != DType::f32 && x.type.dtype != DType::f64)) return;
    const int64_t axis = norm.int_or("axis", -1), rank = static_cast<int64_t>(dims->size());
    Shape shape;
    for (int64_t d = 0; d < rank; ++d) {
      shape.push_back(
          Dim::known(d < (axis < 0 ? axis + rank : axis) ? (*dims)[static_cast<size_t>(d)] : 1));
    }
    const Type type = Type::tensor(x.type.dtype, std::move(shape));
    for (size_t i = 1; i < 3; ++i) {
      const std::string name = norm.output(0)->name() + (i == 1 ? "_mean" : "_inverse");
      if (norm.outputs().size() == i) {
        norm.add_output(c.names.fresh(name), type);
      } else if (!norm.output(i)) {
        norm.set_output(i, c.names.fresh(name), type);
      } else if (norm.output(i)->type.dtype != x.type.dtype) {
        return;
      }
    }
    norm.domain = kInternalDomain;  // whose statistics are of x's type, not of stash_type's
    grad.set_inputs({grad.input(0), grad.input(1), grad.input(2), grad.input(3), norm.output(1),
                     norm.output(2)});
    return;
  }
}

void take_relu(PassContext& c, Node& norm) {
  Node* relu = relu_after(norm);
  if (!relu || !refuses_batch_norm(norm).empty()) return;
  // A mask that nobody reads any more is dropped later.
  const bool alone = std::ranges::all_of(norm.output(0)->uses(), [&](const Use& use) {
    return use.node == relu || !is_needed(*use.node->output(0));
  });
  if (!alone || is_given_out(c, norm.output(0))) return;
  norm.domain = kInternalDomain;
  set_attribute(norm, "relu", int64_t{1});
  c.graph.replace_uses(relu->output(0), norm.output(0));
  c.graph.remove_node(relu);
}

}  // namespace

void save_statistics(PassContext& c) {
  const NodeOrder order(c.graph);
  for (const auto& owned : c.graph.nodes()) {
    if (owned->domain != kInternalDomain) continue;
    if (owned->op == "BatchNormGrad") pair_with_forward(c, order, *owned);
    if (owned->op == "LayerNormGrad") pair_layer_norm(c, order, *owned);
  }
  drop_dead_nodes(c);
  std::vector<Node*> norms;  // a list of their own: the Relu that goes may be the next node
  for (const auto& owned : c.graph.nodes()) {
    if (is_batch_norm(*owned)) norms.push_back(owned.get());
  }
  for (Node* norm : norms) take_relu(c, *norm);
}

}  // namespace onward
