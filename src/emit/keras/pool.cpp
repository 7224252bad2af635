#include <fmt/format.h>

#include "emit/keras/calls.h"
#include "emit/keras/window.h"

namespace onward::emit::keras {
namespace {

std::string pool_options(const WindowFacts& w, bool same) {
  return fmt::format("{}, strides={}{}", python_square(w.kernel), python_square(w.strides),
                     same ? ", padding=\"same\"" : "");
}

/// Keras's poolings have neither dilations nor rounding up.
bool pools_so(const WindowFacts& w) { return !w.has_dilations() && !w.ceil; }

}  // namespace

std::string max_pool(const Call& c) {
  const WindowFacts w = pool_facts(c);
  // In 3 dimensions TensorFlow gives all that tie the gradient, and has no float64.
  if (!pools_so(w) || w.rank() == 3) {
    return fmt::format("{}({})", c.function("max_pool"), pool_arguments(c, w));
  }
  const bool same = keras_says_same(w, c.value(0));
  const std::string x = same ? c.in(0) : keras_padded(c, w, "float(\"-inf\")");
  return fmt::format("ops.max_pool({}, {})", x, pool_options(w, same));
}

std::string average_pool(const Call& c) {
  const WindowFacts w = pool_facts(c);
  const bool count_pads = c.int_attribute("count_include_pad", 0) != 0;
  const bool same = keras_says_same(w, c.value(0)) && !count_pads;
  // TensorFlow has this pooling in float32 alone.
  const bool missing = w.rank() == 3 && c.dtype(0) == DType::f64;
  if (pools_so(w) && !missing && (same || !w.has_pads() || count_pads)) {
    const std::string x = same ? c.in(0) : keras_padded(c, w);
    return fmt::format("ops.average_pool({}, {})", x, pool_options(w, same));
  }
  return fmt::format("{}({}{})", c.function("average_pool"), pool_arguments(c, w),
                     count_pads ? ", count_pads=True" : "");
}

std::string global_max_pool(const Call& c) {
  return fmt::format("{}({})", c.function("global_max_pool"), c.in(0));
}

}  // namespace onward::emit::keras
