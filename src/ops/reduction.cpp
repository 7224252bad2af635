#include <limits>

#include "ops/families.h"

namespace onward {
namespace {

/// The axes that a reduction runs over, as a vector that may be computed: input 1, or all where it
/// is left out or empty (unless the node says that then nothing is reduced).
Expr reduced_axes(const VjpContext& c) {
  Builder& b = c.builder();
  const auto all = [&] { return numbers_below(rank_of(c.input(0))); };
  const bool noop = c.attribute("noop_with_empty_axes", 0) != 0;
  if (!c.has_input(1)) return noop ? b.integers({}) : all();
  const Expr given = c.input(1);
  const auto& shape = given.value()->type.shape;
  const bool some = shape && shape->size() == 1 && shape->at(0).value.value_or(0) > 0;
  if (noop || some) return given;
  // Whether a computed vector is empty is known only when it runs: then all axes are meant.
  return b.add_internal("AxesOrAll", values({given, c.input(0)}), DType::i64);
}

/// A reduced value with its dimensions of size one put back.
Expr with_dims(const VjpContext& c, Expr reduced, Expr axes) {
  return c.attribute("keepdims", 1) != 0 ? reduced : unsqueeze(reduced, axes);
}

Grads reduce_sum_vjp(const VjpContext& c) {
  const Expr dy = with_dims(c, c.grad(0), reduced_axes(c));
  return {expand(dy, shape_of(c.input(0)))};
}

// The mean is the sum over the number of elements that went into it.
Grads reduce_mean_vjp(const VjpContext& c) {
  const Expr x = c.input(0);
  const Expr dy = with_dims(c, c.grad(0), reduced_axes(c));
  const Expr spread = expand(dy, shape_of(x));
  const Expr count = cast(c.builder().add("Size", {x.value()}, DType::i64), x.dtype()) /
                     cast(c.builder().add("Size", {c.grad(0).value()}, DType::i64), x.dtype());
  return {spread / count};
}

// The largest (or smallest) elements share the gradient.
Grads extreme_vjp(const VjpContext& c) {
  const Expr x = c.input(0), axes = reduced_axes(c);
  const Expr y = with_dims(c, c.output(0), axes), dy = with_dims(c, c.grad(0), axes);
  const Expr chosen = cast(equal(x, y), dy.dtype());
  return {chosen * (dy / sum(chosen, axes, KeepDims::yes))};
}

// The derivative by an element is the product of the others. A quotient gives that of those that
// are not zero: `product`. Beside them stand `zeros` zeros, whose sum is zero and has a derivative.
//   by one that is not zero: product / x without zeros, times the zero beside one
//   by a zero: product where it is alone, times the other one of two
Grads reduce_prod_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), axes = reduced_axes(c), dy = with_dims(c, c.grad(0), axes);
  const auto number = [&](double value) { return b.scalar(value, x.dtype()); };
  const Expr is_zero = equal(x, number(0)), factors = where(is_zero, number(1), x);
  const Expr product = b.add("ReduceProd", values({factors, axes}), x.dtype(),
                             {{"noop_with_empty_axes", int64_t{1}}});
  const Expr zeros = sum(cast(is_zero, x.dtype()), axes, KeepDims::yes);
  const Expr sum_of_zeros = sum(where(is_zero, x, number(0)), axes, KeepDims::yes);
  const auto where_zeros = [&](double count, Expr yes, Expr no) {
    return where(equal(zeros, number(count)), yes, no);
  };
  const Expr by_others = where_zeros(0, number(1), where_zeros(1, sum_of_zeros, number(0)));
  const Expr by_zeros = where_zeros(1, number(1), where_zeros(2, sum_of_zeros - x, number(0)));
  return {dy * product * where(is_zero, by_zeros, by_others / factors)};
}

// y = log(sum(e^x)); dx = dy e^(x - y).
Grads reduce_log_sum_exp_vjp(const VjpContext& c) {
  const Expr axes = reduced_axes(c), y = with_dims(c, c.output(0), axes);
  return {with_dims(c, c.grad(0), axes) * exp(c.input(0) - y)};
}

/// The node's own reduction of another value by another operator.
Expr reduced(const ExpandContext& c, std::string_view op, Expr x, int64_t keepdims) {
  std::vector<Value*> inputs = {x.value()};
  if (c.has_input(1)) inputs.push_back(c.input(1).value());
  const int64_t noop = c.node().int_or("noop_with_empty_axes", 0);
  return c.builder().add(op, std::move(inputs), x.dtype(),
                         {{"keepdims", keepdims}, {"noop_with_empty_axes", noop}});
}

Expr reduced(const ExpandContext& c, std::string_view op, Expr x) {
  return reduced(c, op, x, c.node().int_or("keepdims", 1));
}

std::vector<Expr> reduce_l1_expansion(const ExpandContext& c) {
  return {reduced(c, "ReduceSum", abs(c.input(0)))};
}

std::vector<Expr> reduce_sum_square_expansion(const ExpandContext& c) {
  return {reduced(c, "ReduceSum", c.input(0) * c.input(0))};
}

std::vector<Expr> reduce_log_sum_expansion(const ExpandContext& c) {
  return {log(reduced(c, "ReduceSum", c.input(0)))};
}

/// Squares and exponentials of small types leave their range.
DType wide(DType dtype) { return is_float(dtype) ? wide_type(dtype) : DType::f64; }

// The root of a sum of squares; where it is zero, so is its gradient.
std::vector<Expr> reduce_l2_expansion(const ExpandContext& c) {
  const DType dtype = c.input(0).dtype();
  const Expr x = cast(c.input(0), wide(dtype)), squares = reduced(c, "ReduceSum", x * x);
  return {cast(sqrt_flat_at_zero(squares), dtype)};
}

// y = m + log(sum(e^(x - m))) with the largest element m, or zero where that is infinite.
std::vector<Expr> reduce_log_sum_exp_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const DType dtype = c.input(0).dtype();
  const Expr x = cast(c.input(0), wide(dtype)), largest = reduced(c, "ReduceMax", x, 1);
  const Expr infinity = b.scalar(std::numeric_limits<double>::infinity(), x.dtype());
  const Expr shift = where(equal(abs(largest), infinity), b.scalar(0, x.dtype()), largest);
  const Expr y = log(reduced(c, "ReduceSum", exp(x - shift), 1)) + shift;
  // A sum of one element takes the dimensions of size one away.
  const bool keeps = c.node().int_or("keepdims", 1) != 0;
  return {cast(keeps ? y : reduced(c, "ReduceSum", y, 0), dtype)};
}

constexpr InputRoles kReduced = {In::data, In::index};

const OpDef kReductionOps[] = {
    {.name = "ArgMax", .no_gradient = "its result is indices"},
    {.name = "ArgMin", .no_gradient = "its result is indices"},
    {.name = "ReduceL1", .expansion = reduce_l1_expansion, .inputs = kReduced},
    {.name = "ReduceL2", .expansion = reduce_l2_expansion, .inputs = kReduced},
    {.name = "ReduceLogSum", .expansion = in_float32<reduce_log_sum_expansion>, .inputs = kReduced},
    {.name = "ReduceLogSumExp",
     .vjp = reduce_log_sum_exp_vjp,
     .expansion = reduce_log_sum_exp_expansion,
     .inputs = kReduced},
    {.name = "ReduceMax", .vjp = extreme_vjp, .inputs = kReduced},
    {.name = "ReduceMean", .vjp = reduce_mean_vjp, .inputs = kReduced},
    {.name = "ReduceMin", .vjp = extreme_vjp, .inputs = kReduced},
    {.name = "ReduceProd", .vjp = reduce_prod_vjp, .inputs = kReduced},
    {.name = "ReduceSum", .vjp = reduce_sum_vjp, .inputs = kReduced},
    {.name = "ReduceSumSquare",
     .expansion = in_float32<reduce_sum_square_expansion>,
     .inputs = kReduced},
};

}  // namespace

OpFamily reduction_ops() { return {kReductionOps, kAnyLayout}; }

}  // namespace onward
