#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// What is asked of operators that sample images, or put them together, beyond the standard's own
/// rules.
std::optional<Refusal> guard_sampling_operator(const Operands& operands);

}  // namespace onward
