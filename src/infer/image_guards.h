#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// Asks of operators that resize, cut and rearrange images that their attributes and operands fit
/// together. Nothing for other operators.
std::optional<Refusal> guard_image_operator(const Operands& operands);

}  // namespace onward
