#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/shared_calls.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {

std::string cast(const Call& c) {
  return fmt::format("{}.to({})", c.in(0), c.dtype_name(c.result_dtype()));
}

// A view of another type has no gradient, even where the type is the same.
std::string bit_cast(const Call& c) {
  if (c.dtype(0) == c.result_dtype()) return c.in(0);
  return fmt::format("{}.view({})", c.in(0), c.dtype_name(c.result_dtype()));
}

// The lower bound first, then the upper one, which wins where they cross. On a bound the gradient
// is x's; torch.clamp stops it or shares it.
std::string clip(const Call& c) {
  const bool whole = is_whole(c.dtype(0));
  // torch.clamp takes two numbers or two tensors.
  const bool numbers = (!c.has(1) || c.is_number(1)) && (!c.has(2) || c.is_number(2));
  const auto bound = [&](size_t i) {
    return (whole ? numbers : c.is_number(i)) ? c.operand(i) : c.plain(i);
  };
  std::string bounds;
  if (c.has(1)) bounds += fmt::format(", min={}", bound(1));
  if (c.has(2)) bounds += fmt::format(", max={}", bound(2));
  if (bounds.empty()) return c.in(0);
  return fmt::format("{}({}{})", whole ? "torch.clamp" : c.function("clip"), c.in(0), bounds);
}

// Integers are divided towards zero.
std::string div(const Call& c) {
  if (!is_whole(c.dtype(0))) return fmt::format("{} / {}", c.operand(0), c.operand(1));
  return fmt::format("torch.div({}, {}, rounding_mode=\"trunc\")", c.in(0), c.operand(1));
}

std::string gelu(const Call& c) {
  const bool by_tanh = c.node().string_or("approximate", "none") == "tanh";
  return fmt::format("{}.gelu({}{})", c.module("F"), c.in(0),
                     by_tanh ? ", approximate=\"tanh\"" : "");
}

std::string gemm(const Call& c) { return emit::gemm(c, "{}.T", "{} @ {}"); }

std::string is_inf(const Call& c) {
  const bool negative = c.int_attribute("detect_negative", 1) != 0;
  const bool positive = c.int_attribute("detect_positive", 1) != 0;
  if (!negative && !positive) return fmt::format("torch.zeros_like({}, dtype=torch.bool)", c.in(0));
  const std::string_view sign = negative && positive ? "" : positive ? "pos" : "neg";
  return fmt::format("torch.is{}inf({})", sign, c.in(0));
}

std::string max(const Call& c) { return extremum(c, {"torch.maximum", true, "largest"}); }
std::string min(const Call& c) { return extremum(c, {"torch.minimum", true, "smallest"}); }

// Python's remainder, or C's.
std::string mod(const Call& c) {
  return fmt::format("torch.{}({}, {})", c.int_attribute("fmod", 0) != 0 ? "fmod" : "remainder",
                     c.in(0), c.operand(1));
}

// The result has the base's type, whatever the exponent's is.
std::string pow(const Call& c) {
  const std::string power = fmt::format("torch.pow({}, {})", c.operand(0), c.operand(1));
  const bool keeps = c.dtype(0) == c.dtype(1) || (!is_whole(c.dtype(0)) && is_whole(c.dtype(1)));
  return keeps ? power : fmt::format("{}.to({})", power, c.dtype_name(c.dtype(0)));
}

// PyTorch's own has the numbers of the paper, which the defaults are in float32.
std::string selu(const Call& c) {
  const bool is_default = !c.node().attribute("alpha") && !c.node().attribute("gamma");
  if (is_default && c.dtype(0) != DType::f64) {
    return fmt::format("{}.selu({})", c.module("F"), c.in(0));
  }
  return fmt::format("{} * {}.elu({}, {})", c.float_attribute("gamma", 1.05070102F), c.module("F"),
                     c.in(0), c.float_attribute("alpha", 1.67326319F));
}

std::string where(const Call& c) { return chosen(c, "torch.where"); }

}  // namespace onward::emit::torch
