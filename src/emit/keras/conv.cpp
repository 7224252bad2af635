#include <fmt/format.h>

#include <algorithm>

#include "emit/keras/calls.h"
#include "emit/keras/window.h"

namespace onward::emit {
namespace {

bool has_strides(const WindowFacts& w) {
  return std::ranges::any_of(w.strides, [](int64_t stride) { return stride != 1; });
}

}  // namespace

std::string keras_picked_places(const WindowFacts& w) {
  if (!has_strides(w) || !w.has_dilations()) return "";
  return fmt::format("[:, ::{}]", fmt::join(w.strides, ", ::"));
}

bool keras_says_same(const WindowFacts& w, const Value* image) {
  if (!keras_picked_places(w).empty()) return false;
  if (w.same == WindowFacts::Same::upper) return true;
  if (!w.pads || !w.has_pads()) return false;
  for (size_t d = 0; d < w.rank(); ++d) {
    int64_t total = (w.kernel[d] - 1) * w.dilations[d];
    if (w.strides[d] != 1) {  // as many windows as it takes to cover the image
      const auto& shape = image->type.shape;
      const auto size = shape ? (*shape)[d + 2].value : std::nullopt;
      if (!size) return false;
      const int64_t windows = (*size + w.strides[d] - 1) / w.strides[d];
      total = std::max<int64_t>(0, (windows - 1) * w.strides[d] + total + 1 - *size);
    }
    if (w.kernel[d] < 1 || w.before(d) != total / 2 || w.after(d) != total - total / 2) {
      return false;
    }
  }
  return true;
}

std::string keras_padded(const Call& c, const WindowFacts& w, std::string_view value) {
  if (!w.pads) return padded_at_run_time(c, w, value);
  if (!w.has_pads()) return c.in(0);
  std::string widths = "(0, 0), ";
  for (size_t d = 0; d < w.rank(); ++d) {
    widths += fmt::format("({}, {}), ", w.before(d), w.after(d));
  }
  return fmt::format("ops.pad({}, ({}(0, 0)){})", c.in(0), widths,
                     value.empty() ? "" : fmt::format(", constant_values={}", value));
}

namespace keras {

std::string conv_transpose(const Call& c) {
  const WindowFacts w = transposed_window(c, KernelSize::always);
  return fmt::format("{}({}, {}, {}, {}, {}, {}, {}, {}){}", c.function("conv_transpose"), c.in(0),
                     c.plain(1), python_tuple(w.kernel), python_tuple(w.strides),
                     python_tuple(w.dilations), python_tuple(std::span(*w.pads).first(w.rank())),
                     python_tuple(cut_behind(c, w)), c.int_attribute("group", 1),
                     c.has(2) ? " + " + c.plain(2) : "");
}

std::string conv(const Call& c) {
  const WindowFacts w = window_facts(c.node(), kernel_of(c));
  refuse_many_dimensions(w);
  const std::string picked = keras_picked_places(w);
  const bool same = keras_says_same(w, c.value(0));
  const std::string x = same ? c.in(0) : keras_padded(c, w);
  std::vector<int64_t> order;
  for (size_t d = 0; d < w.rank(); ++d) order.push_back(static_cast<int64_t>(d) + 2);
  order.insert(order.end(), {1, 0});
  const std::string kernel = fmt::format("ops.transpose({}, {})", c.plain(1), python_tuple(order));
  const std::string options =
      window_options(w, {picked.empty() ? "strides" : "", "", "dilation_rate"});
  return fmt::format("ops.conv({}, {}{}, padding=\"{}\"){}{}", x, kernel, options,
                     same ? "same" : "valid", picked, c.has(2) ? " + " + c.plain(2) : "");
}

}  // namespace keras
}  // namespace onward::emit
