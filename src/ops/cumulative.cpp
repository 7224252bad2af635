// Sums and products of all elements up to each, along an axis that is an input.

#include "ops/families.h"

namespace onward {
namespace {

struct Direction {
  int64_t exclusive, reverse;
};

Direction direction_of(const VjpContext& c) {
  return {c.attribute("exclusive", 0), c.attribute("reverse", 0)};
}

Direction turned(Direction d) { return {d.exclusive, d.reverse == 0 ? 1 : 0}; }

Expr accumulated(std::string_view op, Expr x, Expr axis, Direction d) {
  return x.builder().add(op, values({x, axis}), x.dtype(),
                         {{"exclusive", d.exclusive}, {"reverse", d.reverse}});
}

// An element is in the sums of all that come after it.
Grads cum_sum_vjp(const VjpContext& c) {
  return {accumulated("CumSum", c.grad(0), c.input(1), turned(direction_of(c)))};
}

// The derivative of y[j] by x[i] is the product of the others up to j. Before the first zero that
// is y[j] / x[i]; at it, the product without it; behind it, zero.
Grads cum_prod_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), axis = c.input(1), y = c.output(0), dy = c.grad(0);
  const Direction along = direction_of(c);
  const auto number = [&](double value) { return b.scalar(value, x.dtype()); };
  const Expr is_zero = equal(x, number(0));
  const Expr zeros = accumulated("CumSum", cast(is_zero, x.dtype()), axis, {0, along.reverse});
  const Expr is_first = logical_and(is_zero, equal(zeros, number(1)));
  const Expr without = accumulated("CumProd", where(is_first, number(1), x), axis, along);
  const auto sum_behind = [&](Expr value) {
    return accumulated("CumSum", value, axis, turned(along));
  };
  const Expr before = sum_behind(dy * y) / where(is_zero, number(1), x);
  const Expr at = sum_behind(dy * without);
  return {where(equal(zeros, number(0)), before, where(is_first, at, number(0)))};
}

const OpDef kCumulativeOps[] = {
    {.name = "CumProd", .vjp = cum_prod_vjp, .inputs = {In::data, In::index}},
    {.name = "CumSum", .vjp = cum_sum_vjp, .inputs = {In::data, In::index}},
};

}  // namespace

std::span<const OpDef> cumulative_ops() { return kCumulativeOps; }

}  // namespace onward
