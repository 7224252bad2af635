// MatMul of transposed matrices is a Gemm that reads them as they lie; so is a transposed product.

#include <algorithm>

#include "passes/passes.h"

namespace onward {
namespace {

/// The matrix that a value is the transpose of, or null.
Value* transposed_matrix(const Value* value) {
  const Node* node = value->producer();
  if (!node || node->op != "Transpose" || !node->domain.empty()) return nullptr;
  const auto dims = static_dims(*node->input(0));
  return dims && dims->size() == 2 && node->output(0)->type.shape &&
                 *node->output(0)->type.shape ==
                     Shape{Dim::known((*dims)[1]), Dim::known((*dims)[0])}
             ? node->input(0)
             : nullptr;
}

bool really_swaps(const Node& transpose) {
  const auto* permutation = transpose.get<std::vector<int64_t>>("perm");
  return !permutation || *permutation == std::vector<int64_t>{1, 0};
}

bool is_matrix(const Value* value) {
  const auto dims = static_dims(*value);
  return dims && dims->size() == 2;
}

bool is_product(const Node& node) {
  return node.domain.empty() && node.op == "MatMul" && is_matrix(node.input(0)) &&
         is_matrix(node.input(1)) && is_float(node.output(0)->type.dtype);
}

struct Operand {
  Value* matrix;
  bool transposed;
};

/// Looks through any number of transposes.
Operand operand(Value* value) {
  Operand found{value, false};
  for (Value* matrix = transposed_matrix(value); matrix && really_swaps(*found.matrix->producer());
       matrix = transposed_matrix(found.matrix)) {
    found = {matrix, !found.transposed};
  }
  return found;
}

void become_gemm(Node& node, Operand a, Operand b) {
  node.set_op("Gemm");
  node.set_inputs({a.matrix, b.matrix});
  set_attribute(node, "transA", int64_t{a.transposed});
  set_attribute(node, "transB", int64_t{b.transposed});
  node.remove_attribute("perm");
}

}  // namespace

void fuse_transposes(PassContext& c) {
  for (const auto& owned : c.graph.nodes()) {
    Node& node = *owned;
    if (is_product(node)) {
      const Operand a = operand(node.input(0)), b = operand(node.input(1));
      if (a.matrix != node.input(0) || b.matrix != node.input(1)) become_gemm(node, a, b);
      continue;
    }
    // (A B)^T = B^T A^T, where nobody else wants A B.
    if (node.op != "Transpose" || !node.domain.empty() || !really_swaps(node)) continue;
    const Node* product = node.input(0)->producer();
    if (!product || node.input(0)->uses().size() != 1 || !is_matrix(node.input(0))) continue;
    const bool is_plain_gemm = product->op == "Gemm" && product->inputs().size() == 2 &&
                               product->float_or("alpha", 1) == 1;
    if (!is_plain_gemm && !is_product(*product)) continue;
    const bool is_wanted =
        std::ranges::find(c.graph.outputs(), node.input(0)) != c.graph.outputs().end();
    if (is_wanted) continue;
    const Operand a{product->input(0), product->int_or("transA", 0) != 0};
    const Operand b{product->input(1), product->int_or("transB", 0) != 0};
    become_gemm(node, {b.matrix, !b.transposed}, {a.matrix, !a.transposed});
  }
}

}  // namespace onward
