#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infer/operands.h"
#include "ir/refusal.h"

namespace onward {

/// The dimensions of a tensor in an equation: a letter each, or another sign for one of an
/// ellipsis.
using Labels = std::string;

/// Whether a label is one of an ellipsis, whose dimensions broadcast.
bool is_of_ellipsis(char label);

/// An equation of Einsum, of operands whose ranks are known.
struct Equation {
  std::vector<Labels> operands;
  Labels output;
};

/// Whether the letters alone say how many dimensions each operand has.
bool has_ellipsis(std::string_view equation);

/// Reads "ij,...jk->...ik", or one without a right side; a rank for each operand, of which those
/// without an ellipsis may be negative: not known. Throws Error where it does not fit.
Equation read_equation(std::string_view text, std::span<const int64_t> ranks);

/// Says what is wrong with the equation of an Einsum node, or with the sizes of its operands.
std::optional<Refusal> guard_einsum(const Operands& operands);

}  // namespace onward
