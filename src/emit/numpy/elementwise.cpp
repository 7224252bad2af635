#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/numpy/calls.h"
#include "emit/shared_calls.h"

namespace onward::emit::numpy {
namespace {

std::string cast_to(const Call& c, std::string_view x, DType dtype) {
  return fmt::format(fmt::runtime(c.dialect().cast), x, c.dtype_name(dtype));
}

}  // namespace

std::string cast(const Call& c) { return cast_to(c, c.in(0), c.result_dtype()); }

// The lower bound first, then the upper one, which wins where they cross. On a bound the gradient
// is x's, as it is for these functions of x and the bound.
std::string clip(const Call& c) {
  std::string text = c.in(0);
  const auto bound = [&](size_t i) { return c.is_number(i) ? c.operand(i) : c.plain(i); };
  if (c.has(1)) text = fmt::format("{}.maximum({}, {})", c.np(), text, bound(1));
  if (c.has(2)) text = fmt::format("{}.minimum({}, {})", c.np(), text, bound(2));
  return text;
}

// Integers are divided towards zero.
std::string div(const Call& c) {
  if (!is_whole(c.dtype(0))) return fmt::format("{} / {}", c.operand(0), c.operand(1));
  return fmt::format("{}({}, {})", c.function("truncated_division"), c.in(0), c.in(1));
}

std::string gemm(const Call& c) {
  return emit::gemm(c, c.np() + ".transpose({})", c.np() + ".matmul({}, {})");
}

std::string is_inf(const Call& c) {
  const bool negative = c.int_attribute("detect_negative", 1) != 0;
  const bool positive = c.int_attribute("detect_positive", 1) != 0;
  if (negative && positive) return fmt::format("{}.isinf({})", c.np(), c.in(0));
  if (!negative && !positive) {
    return fmt::format("{}.zeros_like({}, dtype={})", c.np(), c.in(0),
                       c.dtype_name(DType::boolean));
  }
  return fmt::format("{}.equal({}, float(\"{}inf\"))", c.np(), c.in(0), positive ? "" : "-");
}

std::string max(const Call& c) { return extremum(c, {c.np() + ".maximum", false, "largest"}); }
std::string min(const Call& c) { return extremum(c, {c.np() + ".minimum", false, "smallest"}); }

// The remainder has the sign of the divisor; C's has that of the dividend.
std::string mod(const Call& c) {
  const std::string pattern = c.int_attribute("fmod", 0) == 0
                                  ? "{2}.mod({0}, {1})"
                                  : "{2}.where({0} < 0, -{2}.mod(-{0}, {2}.abs({1})), "
                                    "{2}.mod({0}, {2}.abs({1})))";
  return fmt::format(fmt::runtime(pattern), c.in(0), c.in(1), c.np());
}

// The result has the base's type, whatever the exponent's is.
std::string pow(const Call& c) {
  const std::string exponent = c.operand(1);
  if (exponent == "0.0" || exponent == "0") {  // on TensorFlow the slope of 0^0 is NaN
    return fmt::format("{}.ones_like({})", c.np(), c.in(0));
  }
  if (c.dtype(0) == c.dtype(1) || (c.is_number(1) && is_whole(c.dtype(1)))) {
    return fmt::format("{}.power({}, {})", c.np(), c.operand(0), exponent);
  }
  if (is_whole(c.dtype(0))) {
    const std::string power =
        fmt::format("{}.power({}, {})", c.np(), cast_to(c, c.in(0), c.dtype(1)), exponent);
    return cast_to(c, power, c.dtype(0));
  }
  return fmt::format("{}.power({}, {})", c.np(), c.operand(0), cast_to(c, c.in(1), c.dtype(0)));
}

std::string where(const Call& c) { return chosen(c, c.np() + ".where"); }

}  // namespace onward::emit::numpy
