// Tensors divided by a norm of theirs.

#include "ops/families.h"

namespace onward {
namespace {

// y = x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on. The quotient has the
// type of x, the result that of scale.
std::vector<Expr> rms_norm_expansion(const ExpandContext& c) {
  const DType dtype = c.input(0).dtype();
  const Expr x = cast(c.input(0), wide_type(dtype));
  const Expr axes = axes_from(c.input(0), c.node().int_or("axis", -1));
  const double epsilon = static_cast<double>(c.node().float_or("epsilon", 1e-5F));
  const Expr rms = sqrt(mean(x * x, axes, KeepDims::yes) + epsilon);
  return {cast(cast(x / rms, dtype), c.input(1).dtype()) * c.input(1)};
}

// y = (x - mean(x)) / (deviation + 1e-9), over the axes.
std::vector<Expr> mean_variance_norm_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  const auto* given = c.node().get<std::vector<int64_t>>("axes");
  const Expr axes = c.builder().integers(given ? *given : std::vector<int64_t>{0, 2, 3});
  const auto average = [&](Expr value) {  // over all where there are no axes
    return c.builder().add("ReduceMean", values({value, axes}), value.dtype());
  };
  const Expr centered = x - average(x);
  const Expr deviation = sqrt_flat_at_zero(average(centered * centered));
  return {centered / (deviation + 1e-9)};
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
    {.name = "LpNormalization", .expansion = in_float32<lp_norm_expansion>},
    {.name = "MeanVarianceNormalization", .expansion = in_float32<mean_variance_norm_expansion>},
    {.name = "RMSNormalization", .expansion = rms_norm_expansion, .inputs = {In::data, In::scale}},
};

}  // namespace

std::span<const OpDef> norm_ops() { return kNormOps; }

}  // namespace onward
