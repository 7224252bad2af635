#include "recipe/parameter_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"
#include "recipe/parameter_roles.h"
#include "recipe/parameters.h"

namespace onward {
namespace {

constexpr std::string_view kRate = "learning_rate", kDecay = "weight_decay";

bool sets(const ParameterGroup& group, std::string_view setting) {
  return group.settings.contains(setting) || group.settings.contains(public_name(setting));
}

/// The first group that matches, or the number of groups.
size_t group_of(const Recipe& recipe, const Value& parameter) {
  const auto found = std::ranges::find_if(recipe.groups, [&](const ParameterGroup& each) {
    return matches(each.pattern, parameter.name());
  });
  return static_cast<size_t>(found - recipe.groups.begin());
}

void refuse_idle(const Recipe& recipe, const std::vector<SettingsOfSome>& groups) {
  for (size_t i = 0; i < recipe.groups.size(); ++i) {
    const ParameterGroup& group = recipe.groups[i];
    if (group.settings.empty()) {
      throw Error(fmt::format("the group '{}' has no settings: give it some, such as lr=0.1",
                              group.pattern));
    }
    const bool has_members = !groups[2 * i].members.empty() || !groups[2 * i + 1].members.empty();
    if (has_members) continue;
    throw Error(
        fmt::format("the group '{}' has no parameter that is trained and in no group before it",
                    group.pattern));
  }
  if (recipe.decays_biases) return;
  const bool spares = std::ranges::any_of(groups, [](const SettingsOfSome& each) {
    return each.suffix.ends_with(".undecayed") && !each.members.empty();
  });
  if (!spares) {
    throw Error(
        "no weight decay of biases and normalizations would be left out: no such tensor is "
        "trained with weight_decay");
  }
}

}  // namespace

OptimizerSettings settings_of(const Recipe& recipe, const ParameterGroup& group) {
  OptimizerSettings settings = recipe.optimizer;
  for (const auto& [name, value] : group.settings) settings.set(name, value);
  check_settings(settings);
  return settings;
}

std::vector<SettingsOfSome> parameter_groups(const Recipe& recipe,
                                             std::span<const ParameterGradient> parameters) {
  // Of each group, those that decay and those that do not; last the ones of no group.
  std::vector<SettingsOfSome> groups;
  for (size_t i = 0; i <= recipe.groups.size(); ++i) {
    const bool is_own = i < recipe.groups.size();
    SettingsOfSome group;
    group.settings = is_own ? settings_of(recipe, recipe.groups[i]) : recipe.optimizer;
    if (is_own) group.suffix = fmt::format(".{}", i + 1);
    if (is_own && sets(recipe.groups[i], kRate)) group.own_rate = i;
    groups.push_back(group);
    if (group.settings.has(kDecay)) group.settings.set(kDecay, 0);
    group.suffix += ".undecayed";
    groups.push_back(group);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Value& parameter = *parameters[i].parameter;
    const size_t place = group_of(recipe, parameter);
    const bool says_so = place < recipe.groups.size() && sets(recipe.groups[place], kDecay);
    const bool spared = !recipe.decays_biases && !says_so &&
                        groups[2 * place].settings.is_on(kDecay) &&
                        role_of(parameter).is_bias_or_scale;
    groups[2 * place + (spared ? 1 : 0)].members.push_back(i);
  }
  refuse_idle(recipe, groups);
  std::rotate(groups.begin(), groups.end() - 2, groups.end());
  std::erase_if(groups, [](const SettingsOfSome& each) { return each.members.empty(); });
  return groups;
}

}  // namespace onward
