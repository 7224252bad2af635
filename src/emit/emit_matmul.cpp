#include <fmt/format.h>

#include "emit/emitters.h"

namespace onward::emit {
namespace {

/// alpha * (a @ b) + beta * c, without the factors that are one.
std::string gemm(const Call& c, std::string_view transposed_pattern, std::string_view product) {
  const auto matrix = [&](size_t input, std::string_view attribute) {
    if (c.int_attribute(attribute, 0) == 0) return c.in(input);
    return fmt::format(fmt::runtime(transposed_pattern), c.in(input));
  };
  std::string text = fmt::format(fmt::runtime(product), matrix(0, "transA"), matrix(1, "transB"));
  const bool scaled = c.node().float_or("alpha", 1) != 1;
  if (scaled) text = fmt::format("{} * ({})", c.float_attribute("alpha", 1), text);
  if (!c.has(2)) return text;
  const bool beta = c.node().float_or("beta", 1) != 1;
  return fmt::format("{} + {}{}", text, beta ? c.float_attribute("beta", 1) + " * " : "",
                     c.operand(2));
}

}  // namespace

std::string torch_gemm(const Call& c) { return gemm(c, "{}.T", "{} @ {}"); }
std::string keras_gemm(const Call& c) { return gemm(c, "ops.transpose({})", "ops.matmul({}, {})"); }

}  // namespace onward::emit
