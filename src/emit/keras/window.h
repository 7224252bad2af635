#pragma once

#include <string>
#include <string_view>

#include "emit/window_calls.h"

namespace onward::emit {

/// Keras has no strides and dilations at once: its convolution is then done at every place, and
/// "[:, ::2, ::3]" picks those that count. Empty elsewhere.
std::string keras_picked_places(const WindowFacts& w);

/// Whether Keras's padding="same" puts exactly these pads around an image.
bool keras_says_same(const WindowFacts& w, const Value* image);

/// The first input, channels last, with its pads put around it, by zeros or by `value`
/// ("float(\"-inf\")").
std::string keras_padded(const Call& c, const WindowFacts& w, std::string_view value = "");

}  // namespace onward::emit
