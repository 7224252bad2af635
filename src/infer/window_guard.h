#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// Asks of a convolution's or pooling's kernel_shape, strides, dilations and pads that there is one
/// for each spatial dimension, that they are in range, and that a window fits into the input.
/// Nothing for other operators.
std::optional<Refusal> guard_window(const Operands& operands);

}  // namespace onward
