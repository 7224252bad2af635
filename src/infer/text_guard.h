#pragma once

#include <optional>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

// What operators on strings, bits and chances ask of their attributes and operands, beyond what the
// standard's own rules do.
std::optional<Refusal> guard_bit_cast(const Operands& operands);
std::optional<Refusal> guard_multinomial(const Operands& operands);
std::optional<Refusal> guard_ngrams(const Operands& operands);
std::optional<Refusal> guard_pattern(const Operands& operands);
std::optional<Refusal> guard_string_normalizer(const Operands& operands);

}  // namespace onward
