#pragma once

#include <span>
#include <string_view>

#include "recipe/recipe.h"

namespace onward {

/// A number of an optimizer, by the name that Python and the hint give it.
struct OptimizerNumber {
  std::string_view name;
  double OptimizerSettings::* member;
  bool (*applies)(OptimizerKind kind, Formula formula);
};

std::span<const OptimizerNumber> optimizer_numbers();

/// Sets what a user gives. Throws Error where there is no number of that name, or the optimizer
/// would ignore it.
void set_number(OptimizerSettings& settings, std::string_view name, double value);

}  // namespace onward
