#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// Says which scale or zero point does not fit the tensor that it is of; nothing for operators
/// without any, and where too little is known.
std::optional<Refusal> guard_quantization(const Operands& operands);

}  // namespace onward
