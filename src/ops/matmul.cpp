#include "ops/families.h"

namespace onward {
namespace {

// y = a b: da = dy b^T, db = a^T dy. Where a or b is a vector (rank 1), the standard puts a
// dimension of one there and takes it off the result; the internal operators do the same backwards.
Grads matmul_vjp(const VjpContext& c) {
  const Expr a = c.input(0), b = c.input(1), dy = c.grad(0);
  Builder& builder = c.builder();
  const auto rank_a = rank(a.value()), rank_b = rank(b.value());
  if (rank_a == 2 && rank_b == 2) {
    return {matmul(dy, transpose(b, {1, 0})), matmul(transpose(a, {1, 0}), dy)};
  }
  return {builder.add_internal("MatMulGradA", values({a, b, dy}), dy.dtype()),
          builder.add_internal("MatMulGradB", values({a, b, dy}), dy.dtype())};
}

Expr transposed(Expr matrix) { return transpose(matrix, {1, 0}); }

// y = alpha A B + beta C, with A = a or a^T and B = b or b^T.
Grads gemm_vjp(const VjpContext& c) {
  const Expr a = c.input(0), b = c.input(1), dy = c.grad(0);
  const double alpha = static_cast<double>(c.node().float_or("alpha", 1));
  const double beta = static_cast<double>(c.node().float_or("beta", 1));
  const bool trans_a = c.attribute("transA", 0) != 0, trans_b = c.attribute("transB", 0) != 0;
  const Expr scaled = alpha == 1 ? dy : alpha * dy;
  const Expr big_a = trans_a ? transposed(a) : a, big_b = trans_b ? transposed(b) : b;
  const Expr da = matmul(scaled, transposed(big_b)), db = matmul(transposed(big_a), scaled);
  Grads grads = {trans_a ? transposed(da) : da, trans_b ? transposed(db) : db};
  if (c.has_input(2)) grads.push_back(beta == 1 ? dy : beta * dy);
  return grads;
}

const OpDef kMatmulOps[] = {
    {.name = "Gemm",
     .vjp = gemm_vjp,
     .traits = kBroadcasts,
     .inputs = {In::weight, In::weight, In::bias}},
    {.name = "MatMul", .vjp = matmul_vjp, .inputs = {In::weight}},
};

}  // namespace

std::span<const OpDef> matmul_ops() { return kMatmulOps; }

}  // namespace onward
