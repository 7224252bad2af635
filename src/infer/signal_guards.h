#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// What is asked of operators on signals and spectra beyond the standard's own rules.
std::optional<Refusal> guard_signal_operator(const Operands& operands);

}  // namespace onward
