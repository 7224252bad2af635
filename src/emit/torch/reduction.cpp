#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

std::string reduction(const Call& c, std::string_view function, std::string_view options) {
  const ReducedAxes axes = reduced_axes(c);
  const bool keep = c.int_attribute("keepdims", 1) != 0;
  const std::string x = c.in(0);
  if (axes.none) return x;
  std::string which;
  if (!axes.all) {
    which = fmt::format(", dim={}", axes.text);
  } else if (keep) {
    which = fmt::format(", dim=tuple(range({}.ndim))", x);
  }
  return fmt::format("{}({}{}{}{})", function, x, which, keep ? ", keepdim=True" : "", options);
}

}  // namespace

std::string reduce_max(const Call& c) { return reduction(c, "torch.amax", ""); }

std::string reduce_mean(const Call& c) {
  refuse_integers(c);
  return reduction(c, "torch.mean", "");
}

// Integers are widened unless it is told not to.
std::string reduce_sum(const Call& c) {
  const std::string type =
      is_float(c.dtype(0)) ? "" : fmt::format(", dtype={}", c.dtype_name(c.dtype(0)));
  return reduction(c, "torch.sum", type);
}

}  // namespace onward::emit::torch
