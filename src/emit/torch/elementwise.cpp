#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/shared_calls.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {

std::string cast(const Call& c) {
  return fmt::format("{}.to({})", c.in(0), c.dtype_name(c.result_dtype()));
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

std::string max(const Call& c) { return extremum(c, {"torch.maximum", true, "largest"}); }
std::string min(const Call& c) { return extremum(c, {"torch.minimum", true, "smallest"}); }

// The result has the base's type, whatever the exponent's is.
std::string pow(const Call& c) {
  const std::string power = fmt::format("torch.pow({}, {})", c.operand(0), c.operand(1));
  const bool keeps = c.dtype(0) == c.dtype(1) || (!is_whole(c.dtype(0)) && is_whole(c.dtype(1)));
  return keeps ? power : fmt::format("{}.to({})", power, c.dtype_name(c.dtype(0)));
}

std::string where(const Call& c) { return chosen(c, "torch.where"); }

}  // namespace onward::emit::torch
