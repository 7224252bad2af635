#include "lower/younger_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <numeric>

#include "onward/error.h"

namespace onward {
namespace {

// y = x / 2 * (1 + erf(x / sqrt 2)), or by tanh of sqrt(2 / pi) * (x + 0.044715 x^3)
std::vector<Expr> gelu(const ExpandContext& c) {
  const Expr x = c.input(0);
  if (c.node().string_or("approximate", "none") == "tanh") {
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    return {0.5 * x * (1 + tanh(scale * (x + 0.044715 * (x * x * x))))};
  }
  const Expr scaled = x / std::numbers::sqrt2;
  return {0.5 * x * (1 + c.builder().add("Erf", {scaled.value()}, x.dtype()))};
}

// y = (x - mean) / sqrt(var + epsilon) * scale + bias, over the axes from `axis` on; the statistics
// of small types are computed in float32.
std::vector<Expr> layer_normalization(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0);
  const auto rank_x = rank(x.value());
  if (!rank_x) throw Error(fmt::format("the rank of '{}' must be known", x.value()->name()));
  const int64_t axis = c.node().int_or("axis", -1);
  std::vector<int64_t> numbers(static_cast<size_t>(axis < 0 ? -axis : *rank_x - axis));
  std::iota(numbers.begin(), numbers.end(), axis < 0 ? *rank_x + axis : axis);
  const Expr axes = b.integers(numbers);
  const Expr wide = cast(x, bits(x.dtype()) < 32 ? DType::f32 : x.dtype());
  const auto epsilon = static_cast<double>(c.node().float_or("epsilon", 1e-5F));
  const Expr average = mean(wide, axes, KeepDims::yes), centered = wide - average;
  const Expr inverse = 1 / sqrt(mean(centered * centered, axes, KeepDims::yes) + epsilon);
  Expr y = cast(centered * inverse, x.dtype()) * c.input(1);
  if (c.has_input(2)) y = y + c.input(2);
  const auto statistic = [&](size_t output, Expr value) {
    const Value* wanted = c.node().output(output);
    return wanted ? cast(value, wanted->type.dtype) : value;
  };
  return {y, statistic(1, average), statistic(2, inverse)};
}

constexpr YoungerOperator kOperators[] = {
    {"Gelu", 20, gelu},
    {"LayerNormalization", 17, layer_normalization},
};

}  // namespace

const YoungerOperator* find_younger_operator(std::string_view op) {
  const auto found = std::ranges::find(kOperators, op, &YoungerOperator::op);
  return found == std::end(kOperators) ? nullptr : &*found;
}

}  // namespace onward
