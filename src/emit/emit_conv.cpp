#include <fmt/format.h>

#include <algorithm>

#include "emit/emit_window.h"
#include "emit/emitters.h"
#include "emit/window.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

enum class KernelSize : uint8_t { of_padding, always };

/// The kernel's sizes, 0 where one is neither known nor needed.
std::vector<int64_t> kernel_of(const Call& c, KernelSize needed = KernelSize::of_padding) {
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

/// The windows of a transposed convolution over its result: auto_pad leaves a stride for each
/// element of the input.
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

/// What it cuts off behind what its windows write; negative where it adds zeros.
std::vector<int64_t> cut_behind(const Call& c, const WindowFacts& w) {
  const auto* beyond = c.node().get<std::vector<int64_t>>("output_padding");
  std::vector<int64_t> cut;
  for (size_t d = 0; d < w.rank(); ++d) cut.push_back(w.after(d) - (beyond ? (*beyond)[d] : 0));
  return cut;
}

}  // namespace

std::string torch_conv_transpose(const Call& c) {
  const WindowFacts w = transposed_window(c, KernelSize::of_padding);
  const std::vector<int64_t> behind = cut_behind(c, w);
  std::vector<int64_t> padding, beyond;
  std::string kept;  // of what padding alike on both sides leaves
  for (size_t d = 0; d < w.rank(); ++d) {
    padding.push_back(std::clamp<int64_t>(behind[d], 0, w.before(d)));
    beyond.push_back(std::max<int64_t>(-behind[d], 0));
    const int64_t front = w.before(d) - padding[d], back = behind[d] - padding[d];
    kept += fmt::format(", {}:{}", front > 0 ? std::to_string(front) : "",
                        back > 0 ? std::to_string(-back) : "");
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
  const bool cuts = kept.find_first_of("123456789") != std::string::npos;
  return fmt::format("F.conv_transpose{}d({}, {}{}{}){}", w.rank(), c.in(0), c.in(1),
                     c.has(2) ? ", " + c.in(2) : "", options, cuts ? "[:, :" + kept + "]" : "");
}

std::string keras_conv_transpose(const Call& c) {
  const WindowFacts w = transposed_window(c, KernelSize::always);
  return fmt::format("{}({}, {}, {}, {}, {}, {}, {}, {}){}", c.function("conv_transpose"), c.in(0),
                     c.plain(1), python_tuple(w.kernel), python_tuple(w.strides),
                     python_tuple(w.dilations), python_tuple(std::span(*w.pads).first(w.rank())),
                     python_tuple(cut_behind(c, w)), c.int_attribute("group", 1),
                     c.has(2) ? " + " + c.plain(2) : "");
}

std::string torch_conv(const Call& c) {
  const WindowFacts w = window_facts(c.node(), kernel_of(c));
  refuse_many_dimensions(w);
  const bool by_padding = w.pads_are_symmetric();
  const std::string x = by_padding ? c.in(0) : torch_padded(c, w, "");
  std::string options = window_options(w, {"stride", by_padding ? "padding" : "", "dilation"});
  if (const int64_t group = c.int_attribute("group", 1); group != 1) {
    options += fmt::format(", groups={}", group);
  }
  return fmt::format("F.conv{}d({}, {}{}{})", w.rank(), x, c.in(1), c.has(2) ? ", " + c.in(2) : "",
                     options);
}

std::string keras_conv(const Call& c) {
  const WindowFacts w = window_facts(c.node(), kernel_of(c));
  refuse_many_dimensions(w);
  const std::string picked = keras_picked_places(w);
  const bool same = keras_says_same(w);
  const std::string x = same ? c.in(0) : keras_padded(c, w, "");
  std::vector<int64_t> order;
  for (size_t d = 0; d < w.rank(); ++d) order.push_back(static_cast<int64_t>(d) + 2);
  order.insert(order.end(), {1, 0});
  const std::string kernel = fmt::format("ops.transpose({}, {})", c.plain(1), python_tuple(order));
  const std::string options =
      window_options(w, {picked.empty() ? "strides" : "", "", "dilation_rate"});
  return fmt::format("ops.conv({}, {}{}, padding=\"{}\", data_format=\"channels_last\"){}{}", x,
                     kernel, options, same ? "same" : "valid", picked,
                     c.has(2) ? " + " + c.plain(2) : "");
}

}  // namespace onward::emit
