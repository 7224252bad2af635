// Operators of the matrices in the last two dimensions.

#include "onward/error.h"
#include "ops/families.h"
#include "ops/type_rules.h"

namespace onward {
namespace {

/// How far each place of a matrix is to the right of the diagonal: column - row.
Expr offsets(Expr x) {
  const Expr columns = numbers_below(dim_of(x, -1)), rows = numbers_below(dim_of(x, -2));
  return columns - unsqueeze(rows, x.builder().integers({1}));
}

// The elements on and above the k-th diagonal, or on and below it; zeros elsewhere.
std::vector<Expr> trilu_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), k = c.has_input(1) ? c.input(1) : b.scalar(0, DType::i64);
  const bool upper = c.node().int_or("upper", 1) != 0;
  const Expr kept = upper ? greater_or_equal(offsets(x), k) : greater_or_equal(k, offsets(x));
  if (x.dtype() == DType::boolean) return {logical_and(x, kept)};
  if (!is_float(x.dtype()) && !is_integer(x.dtype())) throw Error("its elements have no zero");
  return {where(kept, x, b.scalar(0, x.dtype()))};
}

std::vector<Expr> eye_like_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  const auto dtype = c.node().int_or("dtype", static_cast<int64_t>(x.dtype()));
  const Expr k = c.builder().constant(Tensor::scalar<int64_t>(c.node().int_or("k", 0)));
  return {cast(equal(offsets(x), k), static_cast<DType>(dtype))};
}

// The derivative of a determinant is the matrix of cofactors.
Grads det_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), dy = unsqueeze(c.grad(0), b.integers({-1, -2}));
  return {dy * b.add_internal("Cofactors", {x.value()}, x.dtype())};
}

std::vector<InferredOutput> cofactors_types(const Node& node, const KnownData&) {
  return of_same_shape(node, 0, 0);
}

// Cofactors(x): the determinant without row i and column j, with the sign of a chessboard. It is
// that of the transposed rest, too.
std::vector<Expr> cofactors_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), one = b.integers({1}), last = b.integers({1});
  const Expr n = dim_of(x, -1), each = numbers_below(n), others = numbers_below(n - one);
  // Row i has the numbers from 0 to n - 1 without i.
  const Expr skips = greater_or_equal(others, unsqueeze(each, last));
  const Expr rest = others + cast(skips, DType::i64);
  const Expr rows = gather(x, rest, -2);                        // [*, i, n - 1, n]
  const Expr minors = gather(swap_last_two(rows), rest, -2);    // [*, i, j, n - 1, n - 1]
  const Expr dets = b.add("Det", {minors.value()}, x.dtype());  // [*, i, j]
  const Expr two = b.scalar(2, DType::i64);
  const Expr odd = b.add("Mod", values({each + unsqueeze(each, last), two}), DType::i64);
  return {dets * cast(1 - 2 * odd, x.dtype())};
}

const OpDef kMatrixOps[] = {
    {.name = "Cofactors",
     .domain = kInternalDomain,
     .expansion = cofactors_expansion,
     .types = cofactors_types},
    {.name = "Det", .vjp = det_vjp},
    {.name = "EyeLike",
     .expansion = eye_like_expansion,
     .no_gradient = "its result depends on a shape alone"},
    {.name = "Trilu", .expansion = trilu_expansion, .inputs = {In::data, In::setting}},
};

}  // namespace

std::span<const OpDef> matrix_ops() { return kMatrixOps; }

}  // namespace onward
