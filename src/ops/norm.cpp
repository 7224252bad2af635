// Tensors divided by a norm of theirs.

#include <numeric>

#include "ops/families.h"

namespace onward {
namespace {

/// Roots and squares of small types are computed with in float32.
DType precise(DType dtype) { return bits(dtype) < 32 ? DType::f32 : dtype; }

/// The root of what is not negative; where it is zero, so is its slope.
Expr safe_root(Expr x) {
  const auto number = [&](double value) { return x.builder().scalar(value, x.dtype()); };
  const Expr positive = greater(x, number(0));
  return where(positive, sqrt(where(positive, x, number(1))), x);
}

// y = x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on. The quotient has the
// type of x, the result that of scale.
std::vector<Expr> rms_norm_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const DType dtype = c.input(0).dtype();
  const Expr x = cast(c.input(0), precise(dtype));
  const int64_t axis = c.node().int_or("axis", -1);
  const auto known = rank(c.node().input(0));
  std::optional<Expr> axes;
  if (axis >= 0 && !known) {
    const Expr end = squeeze(rank_of(x), b.integers({0}));
    axes = b.add(
        "Range",
        values({b.scalar(static_cast<double>(axis), DType::i64), end, b.scalar(1, DType::i64)}),
        DType::i64);
  } else {
    std::vector<int64_t> list(static_cast<size_t>(axis < 0 ? -axis : *known - axis));
    std::iota(list.begin(), list.end(), axis);
    axes = b.integers(list);
  }
  const double epsilon = static_cast<double>(c.node().float_or("epsilon", 1e-5F));
  const Expr rms = sqrt(mean(x * x, *axes, KeepDims::yes) + epsilon);
  return {cast(cast(x / rms, dtype), c.input(1).dtype()) * c.input(1)};
}

// y = (x - mean(x)) / (deviation + 1e-9), over the axes.
std::vector<Expr> mean_variance_norm_expansion(const ExpandContext& c) {
  const DType dtype = c.input(0).dtype();
  const Expr x = cast(c.input(0), precise(dtype));
  const auto* given = c.node().get<std::vector<int64_t>>("axes");
  const Expr axes = c.builder().integers(given ? *given : std::vector<int64_t>{0, 2, 3});
  const auto average = [&](Expr value) {  // over all where there are no axes
    return c.builder().add("ReduceMean", values({value, axes}), value.dtype());
  };
  const Expr centered = x - average(x);
  const Expr deviation = safe_root(average(centered * centered));
  return {cast(centered / (deviation + 1e-9), dtype)};
}

// y = x / |x| along an axis, zero where the norm is.
std::vector<Expr> lp_norm_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0);
  const std::string_view op = c.node().int_or("p", 2) == 1 ? "ReduceL1" : "ReduceL2";
  const Expr axis = b.integers({c.node().int_or("axis", -1)});
  const Expr norm = b.add(op, values({x, axis}), x.dtype());
  const auto number = [&](double value) { return b.scalar(value, x.dtype()); };
  const Expr is_zero = equal(norm, number(0));
  return {where(is_zero, number(0), x / where(is_zero, number(1), norm))};
}

const OpDef kNormOps[] = {
    {.name = "LpNormalization", .expansion = lp_norm_expansion},
    {.name = "MeanVarianceNormalization", .expansion = mean_variance_norm_expansion},
    {.name = "RMSNormalization", .expansion = rms_norm_expansion, .inputs = {In::data, In::scale}},
};

}  // namespace

std::span<const OpDef> norm_ops() { return kNormOps; }

}  // namespace onward
