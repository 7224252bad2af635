#include "emit/window_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward::emit {

void refuse_many_dimensions(const WindowFacts& w) {
  if (w.rank() >= 1 && w.rank() <= 3) return;
  throw Error(fmt::format("{} spatial dimensions; 1 to 3 can be said", w.rank()));
}

std::string window_options(const WindowFacts& w, const WindowWords& words) {
  std::string options;
  const auto add = [&](std::string_view name, std::span<const int64_t> numbers, int64_t usual) {
    const bool is_usual = std::ranges::all_of(numbers, [&](int64_t n) { return n == usual; });
    if (!name.empty() && !is_usual) {
      options += fmt::format(", {}={}", name, python_square(numbers));
    }
  };
  add(words.strides, w.strides, 1);
  if (w.pads) add(words.padding, std::span(*w.pads).first(w.rank()), 0);
  add(words.dilations, w.dilations, 1);
  return options;
}

std::string pairs_of_pads(const WindowFacts& w) {
  std::vector<std::string> pairs;
  for (size_t d = 0; d < w.rank(); ++d) {
    pairs.push_back(fmt::format("({}, {})", w.before(d), w.after(d)));
  }
  return fmt::format("({}{})", fmt::join(pairs, ", "), pairs.size() == 1 ? "," : "");
}

std::string padded_at_run_time(const Call& c, const WindowFacts& w, std::string_view value) {
  std::string options;
  if (w.has_dilations()) options += ", dilations=" + python_tuple(w.dilations);
  if (w.same == WindowFacts::Same::lower) options += ", lower=True";
  if (!value.empty()) options += fmt::format(", value={}", value);
  return fmt::format("{}({}, {}, {}{})", c.function("pad_same"), c.in(0), python_tuple(w.kernel),
                     python_tuple(w.strides), options);
}

WindowFacts pool_facts(const Call& c) {
  WindowFacts w = window_facts(c.node(), {});
  refuse_many_dimensions(w);
  return w;
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

std::vector<int64_t> kernel_of(const Call& c, KernelSize needed) {
  const auto* given = c.node().get<std::vector<int64_t>>("kernel_shape");
  if (given) return *given;
  const size_t rank = c.rank(1);
  std::vector<int64_t> kernel;
  for (size_t d = 2; d < rank; ++d) {
    const auto size = c.dim(1, d);
    kernel.push_back(size.value_or(0));
    const bool same = c.node().string_or("auto_pad", "NOTSET").starts_with("SAME");
    if (!size && (same || needed == KernelSize::always)) {
      throw Error(fmt::format("the kernel's shape is not known: '{}'", c.value(1)->name()));
    }
  }
  return kernel;
}

WindowFacts transposed_window(const Call& c, KernelSize needed) {
  WindowFacts w = window_facts(c.node(), kernel_of(c, needed));
  refuse_many_dimensions(w);
  if (w.same == WindowFacts::Same::no) return w;
  w.pads.emplace(2 * w.rank());
  for (size_t d = 0; d < w.rank(); ++d) {
    const int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
    const int64_t total = std::max<int64_t>(reach - w.strides[d], 0);
    (*w.pads)[d] = w.same == WindowFacts::Same::upper ? total / 2 : total - total / 2;
    (*w.pads)[w.rank() + d] = total - w.before(d);
  }
  return w;
}

std::vector<int64_t> cut_behind(const Call& c, const WindowFacts& w) {
  const auto* beyond = c.node().get<std::vector<int64_t>>("output_padding");
  std::vector<int64_t> cut;
  for (size_t d = 0; d < w.rank(); ++d) cut.push_back(w.after(d) - (beyond ? (*beyond)[d] : 0));
  return cut;
}

}  // namespace onward::emit
