#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/numpy/calls.h"

namespace onward::emit::numpy {
namespace {

std::string reduction(const Call& c, std::string_view function) {
  const ReducedAxes axes = reduced_axes(c);
  const bool keep = c.int_attribute("keepdims", 1) != 0;
  if (axes.none) return c.in(0);
  return fmt::format("{}.{}({}{}{})", c.np(), function, c.in(0),
                     axes.all ? "" : fmt::format(", axis={}", axes.text),
                     keep ? ", keepdims=True" : "");
}

}  // namespace

std::string global_average_pool(const Call& c) {
  std::vector<int64_t> axes;
  for (size_t d = 2; d < c.rank(0); ++d) axes.push_back(c.axis(static_cast<int64_t>(d)));
  return fmt::format("{}.mean({}, axis={}, keepdims=True)", c.np(), c.in(0), python_tuple(axes));
}

std::string reduce_max(const Call& c) { return reduction(c, "max"); }

std::string reduce_mean(const Call& c) {
  refuse_integers(c);
  return reduction(c, "mean");
}

// Integers are widened.
std::string reduce_sum(const Call& c) {
  const std::string text = reduction(c, "sum");
  if (is_float(c.dtype(0))) return text;
  return fmt::format(fmt::runtime(c.dialect().cast), text, c.dtype_name(c.dtype(0)));
}

}  // namespace onward::emit::numpy
