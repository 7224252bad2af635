#pragma once

// What convolutions and poolings share when they are said.

#include <string>
#include <string_view>

#include "emit/call.h"
#include "emit/window.h"

namespace onward::emit {

/// Throws Error for more than the three spatial dimensions that frameworks have.
void refuse_many_dimensions(const WindowFacts& w);
/// Keras has no strides and dilations at once: its convolution is then done at every place, and
/// "[:, ::2, ::3]" picks those that count. Empty elsewhere.
std::string keras_picked_places(const WindowFacts& w);

/// How a framework calls these options; an empty name leaves one out.
struct WindowWords {
  std::string_view strides, padding, dilations;
};

/// ", stride=2, padding=(1, 0)", without what is the default.
std::string window_options(const WindowFacts& w, const WindowWords& words);

/// Whether Keras's padding="same" puts exactly these pads.
bool keras_says_same(const WindowFacts& w);

/// The first input with its pads put around it, by zeros or by `value` ("float(\"-inf\")").
std::string torch_padded(const Call& c, const WindowFacts& w, std::string_view value);
/// The same with channels last.
std::string keras_padded(const Call& c, const WindowFacts& w, std::string_view value);

/// "((1, 2), (0, 1))": pads before and after each spatial dimension.
std::string pairs_of_pads(const WindowFacts& w);
/// Torch's order: the last dimension first.
std::vector<int64_t> torch_pads(const WindowFacts& w);

/// ", kernel, strides, pads, dilations, ceil_mode" for our own pooling functions.
std::string pool_arguments(const Call& c, const WindowFacts& w);

}  // namespace onward::emit
