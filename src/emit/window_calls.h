#pragma once

// What convolutions and poolings of all dialects share when they are written.

#include <string>
#include <string_view>

#include "emit/call.h"
#include "emit/window.h"

namespace onward::emit {

/// Throws Error for more than the three spatial dimensions that frameworks have.
void refuse_many_dimensions(const WindowFacts& w);

/// How a framework calls these options; an empty name leaves one out.
struct WindowWords {
  std::string_view strides, padding, dilations;
};

/// ", stride=2, padding=(1, 0)", without what is the default.
std::string window_options(const WindowFacts& w, const WindowWords& words);

/// "((1, 2), (0, 1))": pads before and after each spatial dimension.
std::string pairs_of_pads(const WindowFacts& w);

/// pad_same(x, kernel, strides, dilations): for sizes that are only known at run time.
std::string padded_at_run_time(const Call& c, const WindowFacts& w, std::string_view value);

/// The windows of a pooling.
WindowFacts pool_facts(const Call& c);

/// ", kernel, strides, pads, dilations, ceil_mode" for our own pooling functions.
std::string pool_arguments(const Call& c, const WindowFacts& w);

enum class KernelSize : uint8_t { of_padding, always };

/// The sizes of a convolution's kernel, 0 where one is neither known nor needed.
std::vector<int64_t> kernel_of(const Call& c, KernelSize needed = KernelSize::of_padding);

/// The windows of a transposed convolution over its result: auto_pad leaves a stride for each
/// element of the input.
WindowFacts transposed_window(const Call& c, KernelSize needed);

/// What it cuts off behind what its windows write; negative where it adds zeros.
std::vector<int64_t> cut_behind(const Call& c, const WindowFacts& w);

}  // namespace onward::emit
