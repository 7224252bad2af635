#include <fmt/format.h>

#include "emit/emitters.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// Which axes a reduction runs over.
struct Axes {
  bool none = false;  // it gives its input
  bool all = false;
  std::string text;  // "1", "(1, 2)", or an expression
};

Axes reduced_axes(const Call& c) {
  const bool none_means_all = c.int_attribute("noop_with_empty_axes", 0) == 0;
  const auto axes = c.has(1) ? c.known(1) : std::vector<int64_t>{};
  if (!axes) {
    const auto count = c.dim(1, 0);
    if (!none_means_all && !count) throw Error("whether it has axes is only known when it runs");
    return {.text = fmt::format("tuple({})", c.ints(1))};
  }
  if (axes->empty()) return {.none = !none_means_all, .all = none_means_all};
  std::vector<int64_t> here;
  for (const int64_t axis : *axes) here.push_back(c.axis(axis));
  return {.text = here.size() == 1 ? std::to_string(here[0]) : python_tuple(here)};
}

std::string torch_reduction(const Call& c, std::string_view function, std::string_view options) {
  const Axes axes = reduced_axes(c);
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

std::string keras_reduction(const Call& c, std::string_view function) {
  const Axes axes = reduced_axes(c);
  const bool keep = c.int_attribute("keepdims", 1) != 0;
  if (axes.none) return c.in(0);
  return fmt::format("{}({}{}{})", function, c.in(0),
                     axes.all ? "" : fmt::format(", axis={}", axes.text),
                     keep ? ", keepdims=True" : "");
}

void refuse_integers(const Call& c) {
  if (is_float(c.dtype(0))) return;
  throw Error(fmt::format("the mean of {} would be rounded differently", name(c.dtype(0))));
}

}  // namespace

std::string torch_reduce_max(const Call& c) { return torch_reduction(c, "torch.amax", ""); }
std::string keras_reduce_max(const Call& c) { return keras_reduction(c, "ops.max"); }

std::string torch_reduce_mean(const Call& c) {
  refuse_integers(c);
  return torch_reduction(c, "torch.mean", "");
}

std::string keras_reduce_mean(const Call& c) {
  refuse_integers(c);
  return keras_reduction(c, "ops.mean");
}

// Both frameworks widen integers unless told not to.
std::string torch_reduce_sum(const Call& c) {
  const std::string type =
      is_float(c.dtype(0)) ? "" : fmt::format(", dtype={}", c.dtype_name(c.dtype(0)));
  return torch_reduction(c, "torch.sum", type);
}

std::string keras_reduce_sum(const Call& c) {
  const std::string text = keras_reduction(c, "ops.sum");
  if (is_float(c.dtype(0))) return text;
  return fmt::format("ops.cast({}, {})", text, c.dtype_name(c.dtype(0)));
}

}  // namespace onward::emit
