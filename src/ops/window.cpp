#include "ops/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward {

std::vector<int64_t> list_or(const Node& node, std::string_view name, size_t count,
                             int64_t fallback) {
  const auto* given = node.get<std::vector<int64_t>>(name);
  std::vector<int64_t> list = given ? *given : std::vector<int64_t>(count, fallback);
  if (list.size() != count) {
    throw Error(fmt::format("{} has {} entries, but {} are needed", name, list.size(), count));
  }
  return list;
}

namespace {

/// As many windows as it takes to cover the input, the padding split with the odd one on a side.
void pad_to_cover(Window& window, std::span<const int64_t> spatial, bool odd_one_before) {
  for (size_t d = 0; d < spatial.size(); ++d) {
    const int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const int64_t outputs = (spatial[d] + window.strides[d] - 1) / window.strides[d];
    const int64_t total =
        std::max<int64_t>(0, (outputs - 1) * window.strides[d] + reach - spatial[d]);
    window.before[d] = odd_one_before ? total - total / 2 : total / 2;
    window.after[d] = total - window.before[d];
    window.output.push_back(outputs);
  }
}

}  // namespace

void Window::require_result(std::span<const int64_t> dims) const {
  if (std::ranges::equal(output, dims.subspan(2))) return;
  throw Bug(fmt::format("windows give {} places, but the result is {}",
                        to_string(std::span<const int64_t>(output)), to_string(dims)));
}

bool pads_whole_windows(const Node& node, std::span<const int64_t> kernel) {
  const auto pads = list_or(node, "pads", 2 * kernel.size(), 0);
  const auto dilations = list_or(node, "dilations", kernel.size(), 1);
  for (size_t d = 0; d < kernel.size(); ++d) {
    const int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
    if (std::max(pads[d], pads[kernel.size() + d]) >= reach) return true;
  }
  return false;
}

Window read_window(const Node& node, std::span<const int64_t> spatial,
                   const std::vector<int64_t>& kernel) {
  const size_t count = spatial.size();
  Window window;
  const auto* shape = node.get<std::vector<int64_t>>("kernel_shape");
  window.kernel = shape ? *shape : kernel;
  if (window.kernel.size() != count) {
    throw Error(
        fmt::format("the kernel has {} dimensions, the input {}", window.kernel.size(), count));
  }
  window.strides = list_or(node, "strides", count, 1);
  window.dilations = list_or(node, "dilations", count, 1);
  for (size_t d = 0; d < count; ++d) {
    if (window.strides[d] < 1 || window.dilations[d] < 1 || window.kernel[d] < 1) {
      throw Error("a stride, dilation or kernel size is not positive");
    }
  }
  const auto pads = list_or(node, "pads", 2 * count, 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(count);
  window.before.assign(pads.begin(), middle);
  window.after.assign(middle, pads.end());
  const std::string auto_pad = node.string_or("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_to_cover(window, spatial, auto_pad == "SAME_LOWER");
    return window;
  }
  if (auto_pad == "VALID") {
    window.before.assign(count, 0);
    window.after.assign(count, 0);
  }
  const bool round_up = node.int_or("ceil_mode", 0) != 0;
  for (size_t d = 0; d < count; ++d) {
    const int64_t reach = (window.kernel[d] - 1) * window.dilations[d] + 1;
    const int64_t room = spatial[d] + window.before[d] + window.after[d] - reach;
    if (room < 0) {
      throw Error(
          fmt::format("a window of {} does not fit into dimension {} of {}", reach, d, spatial[d]));
    }
    int64_t outputs = (round_up ? room + window.strides[d] - 1 : room) / window.strides[d] + 1;
    // A window that would begin in the padding behind the input is left out.
    if (round_up && (outputs - 1) * window.strides[d] >= spatial[d] + window.before[d]) --outputs;
    window.output.push_back(outputs);
  }
  return window;
}

}  // namespace onward
