#include <fmt/format.h>

#include "emit/emit_window.h"
#include "emit/emitters.h"
#include "emit/window.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

std::vector<int64_t> kernel_of(const Call& c) {
  const auto* given = c.node().get<std::vector<int64_t>>("kernel_shape");
  if (given) return *given;
  const size_t rank = c.rank(1);
  std::vector<int64_t> kernel;
  for (size_t d = 2; d < rank; ++d) {
    const auto size = c.dim(1, d);
    // The size matters only where pads are found from it.
    kernel.push_back(size.value_or(0));
    if (!size && c.node().string_or("auto_pad", "NOTSET").starts_with("SAME")) {
      throw Error(fmt::format("the kernel's shape is not known: '{}'", c.value(1)->name()));
    }
  }
  return kernel;
}

}  // namespace

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
