#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/numpy/calls.h"

namespace onward::emit::numpy {
namespace {

/// `module` has the function.
std::string reduction(const Call& c, std::string_view function, const std::string& module) {
  const ReducedAxes axes = reduced_axes(c);
  const bool keep = c.int_attribute("keepdims", 1) != 0;
  if (axes.none) return c.in(0);
  return fmt::format("{}.{}({}{}{})", module, function, c.in(0),
                     axes.all ? "" : fmt::format(", axis={}", axes.text),
                     keep ? ", keepdims=True" : "");
}

std::string reduction(const Call& c, std::string_view function) {
  return reduction(c, function, c.np());
}

/// Integers are widened.
std::string in_own_type(const Call& c, const std::string& text) {
  if (is_float(c.dtype(0))) return text;
  return fmt::format(fmt::runtime(c.dialect().cast), text, c.dtype_name(c.dtype(0)));
}

/// The first of those that tie, or the last one: the first from the end.
std::string place(const Call& c, std::string_view function) {
  const int64_t axis = c.axis(c.int_attribute("axis", 0));
  const std::string x = c.in(0);
  const bool keep = c.int_attribute("keepdims", 1) != 0,
             last = c.int_attribute("select_last_index", 0) != 0;
  std::string text = fmt::format("{}.{}({}, axis={}{})", c.np(), function,
                                 last ? fmt::format("{}.flip({}, axis={})", c.np(), x, axis) : x,
                                 axis, keep ? ", keepdims=True" : "");
  if (last) text = fmt::format("{}.shape({})[{}] - 1 - {}", c.np(), x, axis, text);
  return fmt::format(fmt::runtime(c.dialect().cast), text, c.dtype_name(DType::i64));
}

}  // namespace

std::string arg_max(const Call& c) { return place(c, "argmax"); }
std::string arg_min(const Call& c) { return place(c, "argmin"); }

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

std::string reduce_log_sum_exp(const Call& c) { return reduction(c, "logsumexp", c.module("nn")); }

std::string reduce_min(const Call& c) { return reduction(c, "min"); }
std::string reduce_prod(const Call& c) { return in_own_type(c, reduction(c, "prod")); }
std::string reduce_sum(const Call& c) { return in_own_type(c, reduction(c, "sum")); }

}  // namespace onward::emit::numpy
