#include <fmt/format.h>

#include "emit/emit_window.h"
#include "emit/emitters.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// A pooling of torch: pads at most half the kernel, the same on both sides.
bool torch_pads_so(const WindowFacts& w) {
  if (!w.pads_are_symmetric()) return false;
  for (size_t d = 0; d < w.rank(); ++d) {
    if (2 * w.before(d) > w.kernel[d]) return false;
  }
  return true;
}

WindowFacts pool_facts(const Call& c) {
  WindowFacts w = window_facts(c.node(), {});
  refuse_many_dimensions(w);
  return w;
}

/// "kernel, stride=..., padding=..., ceil_mode=True"; torch's stride is the kernel by default.
std::string torch_pool_options(const WindowFacts& w) {
  std::string options = python_square(w.kernel);
  if (w.strides != w.kernel) options += ", stride=" + python_square(w.strides);
  if (w.has_pads()) options += ", padding=" + python_square(std::span(*w.pads).first(w.rank()));
  if (w.has_dilations()) options += ", dilation=" + python_square(w.dilations);
  if (w.ceil) options += ", ceil_mode=True";
  return options;
}

std::string keras_pool_options(const WindowFacts& w, bool same) {
  return fmt::format("{}, strides={}{}, data_format=\"channels_last\"", python_square(w.kernel),
                     python_square(w.strides), same ? ", padding=\"same\"" : "");
}

/// Keras's poolings have neither dilations nor rounding up.
bool keras_pools_so(const WindowFacts& w) { return !w.has_dilations() && !w.ceil; }

}  // namespace

std::string torch_max_pool(const Call& c) {
  const WindowFacts w = pool_facts(c);
  if (torch_pads_so(w)) {
    return fmt::format("F.max_pool{}d({}, {})", w.rank(), c.in(0), torch_pool_options(w));
  }
  return fmt::format("{}({})", c.function("max_pool"), pool_arguments(c, w));
}

std::string keras_max_pool(const Call& c) {
  const WindowFacts w = pool_facts(c);
  // In 3 dimensions TensorFlow gives all that tie the gradient, and has no float64.
  if (!keras_pools_so(w) || w.rank() == 3) {
    return fmt::format("{}({})", c.function("max_pool"), pool_arguments(c, w));
  }
  const bool same = keras_says_same(w);
  const std::string x = same ? c.in(0) : keras_padded(c, w, "float(\"-inf\")");
  return fmt::format("ops.max_pool({}, {})", x, keras_pool_options(w, same));
}

std::string torch_average_pool(const Call& c) {
  const WindowFacts w = pool_facts(c);
  const bool count_pads = c.int_attribute("count_include_pad", 0) != 0;
  if (torch_pads_so(w) && !w.has_dilations()) {
    const bool say = !count_pads && w.has_pads();
    return fmt::format("F.avg_pool{}d({}, {}{})", w.rank(), c.in(0), torch_pool_options(w),
                       say ? ", count_include_pad=False" : "");
  }
  return fmt::format("{}({}{})", c.function("average_pool"), pool_arguments(c, w),
                     count_pads ? ", count_pads=True" : "");
}

std::string keras_average_pool(const Call& c) {
  const WindowFacts w = pool_facts(c);
  const bool count_pads = c.int_attribute("count_include_pad", 0) != 0;
  const bool same = keras_says_same(w) && !count_pads;
  // TensorFlow has this pooling in float32 alone.
  const bool missing = w.rank() == 3 && c.dtype(0) == DType::f64;
  if (keras_pools_so(w) && !missing && (same || !w.has_pads() || count_pads)) {
    const std::string x = same ? c.in(0) : keras_padded(c, w, "");
    return fmt::format("ops.average_pool({}, {})", x, keras_pool_options(w, same));
  }
  return fmt::format("{}({}{})", c.function("average_pool"), pool_arguments(c, w),
                     count_pads ? ", count_pads=True" : "");
}

std::string torch_global_average_pool(const Call& c) {
  const size_t spatial = c.rank(0) - 2;
  if (spatial >= 1 && spatial <= 3) {
    return fmt::format("F.adaptive_avg_pool{}d({}, 1)", spatial, c.in(0));
  }
  return fmt::format("torch.mean({0}, dim=tuple(range(2, {0}.ndim)), keepdim=True)", c.in(0));
}

std::string keras_global_average_pool(const Call& c) {
  std::vector<int64_t> axes;
  for (size_t d = 1; d + 1 < c.rank(0); ++d) axes.push_back(static_cast<int64_t>(d));
  return fmt::format("ops.mean({}, axis={}, keepdims=True)", c.in(0), python_tuple(axes));
}

}  // namespace onward::emit
