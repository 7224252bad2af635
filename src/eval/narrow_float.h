#pragma once

#include "eval/kernel.h"

namespace onward::eval {

/// What a Cast `node` of numbers to a float of 8 or fewer bits gives, by its `saturate` and
/// `round_mode`.
Tensor cast_to_narrow_float(const Node& node, const Tensor& from, DType to);

}  // namespace onward::eval
