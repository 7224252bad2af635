#pragma once

// What torch.optim's formulas have in common.

#include "recipe/optimizer_parts.h"

namespace onward::torch_optimizer {

/// g + weight_decay p
inline Expr decayed_gradient(ParameterUpdate& u) {
  if (!u.settings().is_on("weight_decay")) return u.gradient();
  return u.gradient() + u.number("weight_decay") * u.parameter();
}

/// torch.lerp by one minus a setting, which takes the other of two equal formulas from one half on.
inline Expr lerp(ParameterUpdate& u, Expr from, Expr to, const std::string& setting) {
  const double weight = 1 - u.settings()[setting];
  if (weight < 0.5) return from + u.number("one_minus_" + setting, weight) * (to - from);
  return to - (to - from) * u.number("lerp_" + setting, 1 - weight);
}

/// setting average + (1 - setting) x^2
inline Expr square_average(ParameterUpdate& u, Expr average, Expr x, const std::string& setting) {
  return u.number(setting) * average +
         u.number("one_minus_" + setting, 1 - u.settings()[setting]) * x * x;
}

inline SettingDef rate(double preset) {
  return {.name = "learning_rate", .preset = preset, .option = "lr"};
}
inline SettingDef weight_decay(double preset = 0) {
  return {.name = "weight_decay", .preset = preset, .option = "weight_decay"};
}
inline SettingDef epsilon(double preset) {
  return {.name = "epsilon", .preset = preset, .option = "eps"};
}

}  // namespace onward::torch_optimizer
