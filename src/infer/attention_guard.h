#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// Says which operand or attribute of Attention, or of an operator around it, does not fit the
/// others; nothing for other operators, and where too little is known.
std::optional<Refusal> guard_attention(const Operands& operands);

}  // namespace onward
