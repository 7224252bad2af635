#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emit/window_calls.h"

namespace onward::emit {

/// Torch's order of pads: the last dimension first.
std::vector<int64_t> torch_pads(const WindowFacts& w);

/// The first input with its pads put around it, by zeros or by `value` ("float(\"-inf\")").
std::string torch_padded(const Call& c, const WindowFacts& w, std::string_view value = "");

}  // namespace onward::emit
