#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// Says which operand of RNN, GRU or LSTM does not fit the others or the attributes; nothing for
/// other operators, and where too little is known.
std::optional<Refusal> guard_recurrent(const Operands& operands);

}  // namespace onward
