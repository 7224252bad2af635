#include <fmt/format.h>

#include "emit/keras/calls.h"

namespace onward::emit::keras {

std::string gelu(const Call& c) {
  const bool by_tanh = c.node().string_or("approximate", "none") == "tanh";
  if (c.dtype(0) == DType::f64) {
    // TensorFlow's own has constants of float32.
    const std::string inner =
        by_tanh ? "ops.tanh(0.7978845608028654 * ({0} + 0.044715 * {0} * {0} * {0}))"
                : "ops.erf({0} / 1.4142135623730951)";
    return fmt::format(fmt::runtime("0.5 * {0} * (1 + " + inner + ")"), c.in(0));
  }
  return fmt::format("ops.gelu({}, approximate={})", c.in(0), python_bool(by_tanh));
}

}  // namespace onward::emit::keras
