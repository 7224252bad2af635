#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

/// Whether a function reduces all dimensions where none are named.
enum class WithoutAxes : uint8_t { all, refused };

std::string reduction(const Call& c, std::string_view function, std::string_view options,
                      WithoutAxes without = WithoutAxes::all) {
  const ReducedAxes axes = reduced_axes(c);
  const bool keep = c.int_attribute("keepdims", 1) != 0;
  const std::string x = c.in(0);
  if (axes.none) return x;
  std::string which;
  if (!axes.all) {
    which = fmt::format(", dim={}", axes.text);
  } else if (keep || without == WithoutAxes::refused) {
    which = fmt::format(", dim=tuple(range({}.ndim))", x);
  }
  return fmt::format("{}({}{}{}{})", function, x, which, keep ? ", keepdim=True" : "", options);
}

/// The first of those that tie, or the last one: the first from the end.
std::string place(const Call& c, std::string_view function) {
  const int64_t axis = c.axis(c.int_attribute("axis", 0));
  const std::string x = c.in(0);
  const std::string options =
      fmt::format("dim={}{}", axis, c.int_attribute("keepdims", 1) != 0 ? ", keepdim=True" : "");
  if (c.int_attribute("select_last_index", 0) == 0) {
    return fmt::format("{}({}, {})", function, x, options);
  }
  return fmt::format("{0}.shape[{1}] - 1 - {2}(torch.flip({0}, ({1},)), {3})", x, axis, function,
                     options);
}

}  // namespace

std::string arg_max(const Call& c) { return place(c, "torch.argmax"); }
std::string arg_min(const Call& c) { return place(c, "torch.argmin"); }

std::string reduce_log_sum_exp(const Call& c) {
  return reduction(c, "torch.logsumexp", "", WithoutAxes::refused);
}

std::string reduce_max(const Call& c) { return reduction(c, "torch.amax", ""); }

std::string reduce_mean(const Call& c) {
  refuse_integers(c);
  return reduction(c, "torch.mean", "");
}

std::string reduce_min(const Call& c) { return reduction(c, "torch.amin", ""); }

// PyTorch's own takes one axis.
std::string reduce_prod(const Call& c) {
  const ReducedAxes axes = reduced_axes(c);
  if (axes.none) return c.in(0);
  std::string which = axes.all ? fmt::format("tuple(range({}.ndim))", c.in(0)) : axes.text;
  if (!axes.all && which.find_first_of("(.[") == std::string::npos) which = "(" + which + ",)";
  const bool keep = c.int_attribute("keepdims", 1) != 0;
  return fmt::format("{}({}, {}{})", c.function("product"), c.in(0), which,
                     keep ? ", keepdim=True" : "");
}

// Integers are widened unless it is told not to.
std::string reduce_sum(const Call& c) {
  const std::string type =
      is_float(c.dtype(0)) ? "" : fmt::format(", dtype={}", c.dtype_name(c.dtype(0)));
  return reduction(c, "torch.sum", type);
}

}  // namespace onward::emit::torch
