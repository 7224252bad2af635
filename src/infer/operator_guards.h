#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// What is asked of single operators beyond the standard's own rules, which believe it: numbers in
/// range, windows that can be, operands whose shapes fit each other. Inputs and attributes are
/// present, and of the type that the schema wants. Before a node runs it is asked as far as types
/// and constants are known, so that `check` tells; where shapes depend on data it is asked again
/// with the tensors, so that kernels can rely on it.
std::optional<Refusal> guard_operator(const Operands& operands);

}  // namespace onward
