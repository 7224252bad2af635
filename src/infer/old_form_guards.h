#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// Asks of forms that later opsets replaced what the newer ones ask: axes and bounds that were
/// attributes before they became inputs, and shapes of operands from before broadcasting. Nothing
/// for other operators and forms.
std::optional<Refusal> guard_old_form(const Operands& operands);

}  // namespace onward
