#pragma once

#include <span>

#include "recipe/algorithm.h"
#include "recipe/optimizer_def.h"

namespace onward {

/// A parameter with the gradient that the step computed for it.
struct ParameterGradient {
  Value* parameter;
  Value* gradient;
};

/// What an optimizer keeps from step to step.
struct OptimizerState {
  Value* learning_rate = nullptr;
  Value* step = nullptr;                 // where it counts steps
  std::vector<std::vector<Slot>> slots;  // of each parameter
};

/// Writes one step of the optimizer: nodes, state and updates.
OptimizerState write_optimizer(Algorithm& algorithm, const Recipe& recipe,
                               std::span<const ParameterGradient> parameters);

/// Whether a step is counted: by the optimizer, one of its groups, or the schedule.
bool counts_steps(const Recipe& recipe);

/// Throws an Error where a number of the settings can't be meant.
void check_settings(const OptimizerSettings& settings);
void check_setting(const SettingDef& setting, double value);

/// What a user should know of the settings: attributes that float32 can't hold.
std::vector<std::string> optimizer_notes(const OptimizerSettings& settings);

}  // namespace onward
