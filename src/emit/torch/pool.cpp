#include <fmt/format.h>

#include "emit/torch/calls.h"
#include "emit/torch/window.h"
#include "onward/error.h"

namespace onward::emit::torch {
namespace {

/// A pooling of torch: pads at most half the kernel, the same on both sides.
bool pads_so(const WindowFacts& w) {
  if (!w.pads_are_symmetric()) return false;
  for (size_t d = 0; d < w.rank(); ++d) {
    if (2 * w.before(d) > w.kernel[d]) return false;
  }
  return true;
}

/// "kernel, stride=..., padding=..., ceil_mode=True"; torch's stride is the kernel by default.
std::string pool_options(const WindowFacts& w) {
  std::string options = python_square(w.kernel);
  if (w.strides != w.kernel) options += ", stride=" + python_square(w.strides);
  if (w.has_pads()) options += ", padding=" + python_square(std::span(*w.pads).first(w.rank()));
  if (w.has_dilations()) options += ", dilation=" + python_square(w.dilations);
  if (w.ceil) options += ", ceil_mode=True";
  return options;
}

}  // namespace

std::string max_pool(const Call& c) {
  const WindowFacts w = pool_facts(c);
  if (pads_so(w)) {
    return fmt::format("{}.max_pool{}d({}, {})", c.module("F"), w.rank(), c.in(0), pool_options(w));
  }
  return fmt::format("{}({})", c.function("max_pool"), pool_arguments(c, w));
}

std::string average_pool(const Call& c) {
  const WindowFacts w = pool_facts(c);
  const bool count_pads = c.int_attribute("count_include_pad", 0) != 0;
  if (pads_so(w) && !w.has_dilations()) {
    const bool say = !count_pads && w.has_pads();
    return fmt::format("{}.avg_pool{}d({}, {}{})", c.module("F"), w.rank(), c.in(0),
                       pool_options(w), say ? ", count_include_pad=False" : "");
  }
  return fmt::format("{}({}{})", c.function("average_pool"), pool_arguments(c, w),
                     count_pads ? ", count_pads=True" : "");
}

std::string global_average_pool(const Call& c) {
  const size_t spatial = c.rank(0) - 2;
  if (spatial >= 1 && spatial <= 3) {
    return fmt::format("{}.adaptive_avg_pool{}d({}, 1)", c.module("F"), spatial, c.in(0));
  }
  return fmt::format("torch.mean({0}, dim=tuple(range(2, {0}.ndim)), keepdim=True)", c.in(0));
}

std::string global_max_pool(const Call& c) {
  const size_t spatial = c.rank(0) - 2;
  if (spatial >= 1 && spatial <= 3) {
    return fmt::format("{}.adaptive_max_pool{}d({}, 1)", c.module("F"), spatial, c.in(0));
  }
  throw Error("PyTorch pools 1 to 3 dimensions");
}

}  // namespace onward::emit::torch
