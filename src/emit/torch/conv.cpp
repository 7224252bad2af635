#include <fmt/format.h>

#include <algorithm>

#include "emit/torch/calls.h"
#include "emit/torch/window.h"

namespace onward::emit {

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
  return fmt::format("{}.pad({}, {}{})", c.module("F"), c.in(0), python_tuple(torch_pads(w)),
                     value.empty() ? "" : fmt::format(", value={}", value));
}

namespace torch {

std::string conv_transpose(const Call& c) {
  const WindowFacts w = transposed_window(c, KernelSize::of_padding);
  const std::vector<int64_t> behind = cut_behind(c, w);
  std::vector<int64_t> padding, beyond;
  std::string kept;  // of what padding alike on both sides leaves
  bool cuts = false;
  for (size_t d = 0; d < w.rank(); ++d) {
    padding.push_back(std::clamp<int64_t>(behind[d], 0, w.before(d)));
    beyond.push_back(std::max<int64_t>(-behind[d], 0));
    const int64_t front = w.before(d) - padding[d], back = behind[d] - padding[d];
    kept += fmt::format(", {}:{}", front > 0 ? std::to_string(front) : "",
                        back > 0 ? std::to_string(-back) : "");
    cuts = cuts || front > 0 || back > 0;
  }
  std::string options = window_options(w, {"stride", "", "dilation"});
  const auto add = [&](std::string_view name, const std::vector<int64_t>& list) {
    const bool any = std::ranges::any_of(list, [](int64_t number) { return number != 0; });
    if (any) options += fmt::format(", {}={}", name, python_square(list));
  };
  add("padding", padding);
  add("output_padding", beyond);
  if (const int64_t group = c.int_attribute("group", 1); group != 1) {
    options += fmt::format(", groups={}", group);
  }
  return fmt::format("{}.conv_transpose{}d({}, {}{}{}){}", c.module("F"), w.rank(), c.in(0),
                     c.in(1), c.has(2) ? ", " + c.in(2) : "", options,
                     cuts ? "[:, :" + kept + "]" : "");
}

std::string conv(const Call& c) {
  const WindowFacts w = window_facts(c.node(), kernel_of(c));
  refuse_many_dimensions(w);
  const bool by_padding = w.pads_are_symmetric();
  const std::string x = by_padding ? c.in(0) : torch_padded(c, w);
  std::string options = window_options(w, {"stride", by_padding ? "padding" : "", "dilation"});
  if (const int64_t group = c.int_attribute("group", 1); group != 1) {
    options += fmt::format(", groups={}", group);
  }
  return fmt::format("{}.conv{}d({}, {}{}{})", c.module("F"), w.rank(), x, c.in(1),
                     c.has(2) ? ", " + c.in(2) : "", options);
}

}  // namespace torch
}  // namespace onward::emit
