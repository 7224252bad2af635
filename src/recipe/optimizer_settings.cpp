#include "recipe/optimizer_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"

namespace onward {

OptimizerSettings::OptimizerSettings()
    : OptimizerSettings(default_settings("adam", Formula::torch)) {}

OptimizerSettings::OptimizerSettings(const OptimizerDef& def)
    : float32_numbers(def.formula == Formula::keras), def_(&def) {
  for (const SettingDef& each : def.settings) values_.push_back(each.preset);
}

OptimizerSettings default_settings(std::string_view name, Formula formula) {
  return OptimizerSettings(find_optimizer(name, formula));
}

std::string_view OptimizerSettings::name() const { return def_->name; }
Formula OptimizerSettings::formula() const { return def_->formula; }

bool OptimizerSettings::has(std::string_view setting) const {
  return def_->find(setting) != nullptr;
}

double OptimizerSettings::operator[](std::string_view setting) const {
  const SettingDef* found = def_->find(setting);
  if (!found) throw Bug(fmt::format("{} is asked for its {}", name(), setting));
  return values_[static_cast<size_t>(found - def_->settings.data())];
}

double OptimizerSettings::rounded(std::string_view setting) const {
  const double value = (*this)[setting];
  const bool rounds = float32_numbers && def_->find(setting)->is_cast;
  return rounds ? static_cast<double>(static_cast<float>(value)) : value;
}

void OptimizerSettings::set(std::string_view setting, double value) {
  if (const SettingDef* found = def_->find(setting)) {
    values_[static_cast<size_t>(found - def_->settings.data())] = value;
    return;
  }
  std::vector<std::string_view> all, own;
  for (const SettingUse& each : optimizer_settings()) all.push_back(each.name);
  for (const SettingDef& each : def_->settings) own.push_back(each.name);
  if (std::ranges::find(all, setting) == all.end()) {
    throw Error(fmt::format("'{}' is no number of an optimizer: there are {}", setting,
                            fmt::join(all, ", ")));
  }
  throw Error(fmt::format("{} in the formula of {} has no {}: it has {}", name(),
                          to_string(formula()), setting, fmt::join(own, ", ")));
}

}  // namespace onward
