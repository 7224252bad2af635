#include "ops/families.h"

namespace onward {
namespace {

/// The axes that a reduction runs over, as a vector that may be computed: input 1, or all where it
/// is left out or empty (unless the node says that then nothing is reduced).
Expr reduced_axes(const VjpContext& c) {
  Builder& b = c.builder();
  const auto all = [&] {
    const Expr none = b.scalar(0, DType::i64);
    const Expr one = b.scalar(1, DType::i64);
    const Expr rank = squeeze(rank_of(c.input(0)), b.integers({0}));
    return b.add("Range", values({none, rank, one}), DType::i64);
  };
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

// The largest elements share the gradient.
Grads reduce_max_vjp(const VjpContext& c) {
  const Expr x = c.input(0), axes = reduced_axes(c);
  const Expr y = with_dims(c, c.output(0), axes), dy = with_dims(c, c.grad(0), axes);
  const Expr chosen = cast(equal(x, y), dy.dtype());
  return {chosen * (dy / sum(chosen, axes, KeepDims::yes))};
}

constexpr InputRoles kReduced = {In::data, In::index};

const OpDef kReductionOps[] = {
    {.name = "ReduceMax", .vjp = reduce_max_vjp, .inputs = kReduced},
    {.name = "ReduceMean", .vjp = reduce_mean_vjp, .inputs = kReduced},
    {.name = "ReduceSum", .vjp = reduce_sum_vjp, .inputs = kReduced},
};

}  // namespace

OpFamily reduction_ops() { return {kReductionOps, kAnyLayout}; }

}  // namespace onward
