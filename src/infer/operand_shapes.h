#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// Says which operand of a node has a shape that does not fit the others. What the standard's rules
/// take the output's shape from they check themselves; of all other operands (biases, scales,
/// slopes, weights of classes ...) they know nothing.
std::optional<Refusal> guard_operand_shapes(const Operands& operands);

}  // namespace onward
