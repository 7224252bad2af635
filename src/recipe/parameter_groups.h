#pragma once

#include "recipe/optimizer.h"

namespace onward {

/// Parameters that share all settings.
struct SettingsOfSome {
  OptimizerSettings settings;
  std::optional<size_t> own_rate;  // the place of the group that has a learning rate of its own
  std::string suffix;              // of its constants' names; empty for the recipe's own settings
  std::vector<size_t> members;     // places of parameters
};

/// Each parameter once, in the order of the recipe: those of no group come first. Throws an Error
/// where a group has no member, or changes nothing.
std::vector<SettingsOfSome> parameter_groups(const Recipe& recipe,
                                             std::span<const ParameterGradient> parameters);

/// The recipe's settings with those of a group.
OptimizerSettings settings_of(const Recipe& recipe, const ParameterGroup& group);

}  // namespace onward
