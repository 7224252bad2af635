#include "emit/emit_window.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward::emit {
namespace {

bool all_are(std::span<const int64_t> numbers, int64_t wanted) {
  return std::ranges::all_of(numbers, [&](int64_t n) { return n == wanted; });
}

/// pad_same(x, kernel, strides, dilations): for sizes that are only known at run time.
std::string padded_at_run_time(const Call& c, const WindowFacts& w, std::string_view value) {
  std::string options;
  if (w.has_dilations()) options += ", dilations=" + python_tuple(w.dilations);
  if (w.same == WindowFacts::Same::lower) options += ", lower=True";
  if (!value.empty()) options += fmt::format(", value={}", value);
  return fmt::format("{}({}, {}, {}{})", c.function("pad_same"), c.in(0), python_tuple(w.kernel),
                     python_tuple(w.strides), options);
}

}  // namespace

void refuse_many_dimensions(const WindowFacts& w) {
  if (w.rank() >= 1 && w.rank() <= 3) return;
  throw Error(fmt::format("{} spatial dimensions; 1 to 3 can be said", w.rank()));
}

std::string keras_picked_places(const WindowFacts& w) {
  if (all_are(w.strides, 1) || !w.has_dilations()) return "";
  return fmt::format("[:, ::{}]", fmt::join(w.strides, ", ::"));
}

std::string window_options(const WindowFacts& w, const WindowWords& words) {
  std::string options;
  const auto add = [&](std::string_view name, std::span<const int64_t> numbers, int64_t usual) {
    if (!name.empty() && !all_are(numbers, usual)) {
      options += fmt::format(", {}={}", name, python_square(numbers));
    }
  };
  add(words.strides, w.strides, 1);
  if (w.pads) add(words.padding, std::span(*w.pads).first(w.rank()), 0);
  add(words.dilations, w.dilations, 1);
  return options;
}

bool keras_says_same(const WindowFacts& w) {
  if (!keras_picked_places(w).empty()) return false;
  if (w.same == WindowFacts::Same::upper) return true;
  if (!w.pads || !w.has_pads() || !all_are(w.strides, 1)) return false;
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t total = (w.kernel[d] - 1) * w.dilations[d];
    if (w.kernel[d] < 1 || w.before(d) != total / 2 || w.after(d) != total - total / 2) {
      return false;
    }
  }
  return true;
}

std::vector<int64_t> torch_pads(const WindowFacts& w) {
  std::vector<int64_t> order;
  for (size_t d = w.rank(); d-- > 0;) {
    order.push_back(w.before(d));
    order.push_back(w.after(d));
  }
  return order;
}

std::string torch_padded(const Call& c, const WindowFacts& w, std::string_view value) {
  if (!w.pads) return padded_at_run_time(c, w, value);
  if (!w.has_pads()) return c.in(0);
  return fmt::format("F.pad({}, {}{})", c.in(0), python_tuple(torch_pads(w)),
                     value.empty() ? "" : fmt::format(", value={}", value));
}

std::string pairs_of_pads(const WindowFacts& w) {
  std::vector<std::string> pairs;
  for (size_t d = 0; d < w.rank(); ++d) {
    pairs.push_back(fmt::format("({}, {})", w.before(d), w.after(d)));
  }
  return fmt::format("({}{})", fmt::join(pairs, ", "), pairs.size() == 1 ? "," : "");
}

std::string keras_padded(const Call& c, const WindowFacts& w, std::string_view value) {
  if (!w.pads) return padded_at_run_time(c, w, value);
  if (!w.has_pads()) return c.in(0);
  std::string widths = pairs_of_pads(w);
  widths = fmt::format("((0, 0), {}{}(0, 0))", widths.substr(1, widths.size() - 2),
                       w.rank() == 1 ? " " : ", ");
  return fmt::format("ops.pad({}, {}{})", c.in(0), widths,
                     value.empty() ? "" : fmt::format(", constant_values={}", value));
}

std::string pool_arguments(const Call& c, const WindowFacts& w) {
  std::string pads;
  if (w.pads) {
    pads = python_tuple(*w.pads);
  } else {
    pads = fmt::format("{}({}, {}, {}, {}, lower={})", c.function("same_pads"), c.in(0),
                       python_tuple(w.kernel), python_tuple(w.strides), python_tuple(w.dilations),
                       python_bool(w.same == WindowFacts::Same::lower));
  }
  return fmt::format("{}, {}, {}, {}, {}{}", c.in(0), python_tuple(w.kernel),
                     python_tuple(w.strides), pads, python_tuple(w.dilations),
                     w.ceil ? ", ceil_mode=True" : "");
}

}  // namespace onward::emit
