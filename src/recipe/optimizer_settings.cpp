#include "recipe/optimizer_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/suggestion.h"
#include "onward/error.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"

namespace onward {
namespace {

struct PublicName {
  std::string_view setting, name;
};
constexpr PublicName kPublicNames[] = {{"learning_rate", "lr"}, {"rate_decay", "lr_decay"}};

std::string_view name_in_table(std::string_view name) {
  const auto found = std::ranges::find(kPublicNames, name, &PublicName::name);
  return found == std::end(kPublicNames) ? name : found->setting;
}

}  // namespace

std::string_view public_name(std::string_view setting) {
  const auto found = std::ranges::find(kPublicNames, setting, &PublicName::setting);
  return found == std::end(kPublicNames) ? setting : found->name;
}

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
  if (const SettingDef* found = def_->find(name_in_table(setting))) {
    values_[static_cast<size_t>(found - def_->settings.data())] = value;
    return;
  }
  std::vector<std::string_view> all, own;
  for (const SettingUse& each : optimizer_settings()) all.push_back(public_name(each.name));
  for (const SettingDef& each : def_->settings) own.push_back(public_name(each.name));
  const std::string_view known = public_name(setting);
  if (std::ranges::find(all, known) == all.end()) {
    throw Error(unknown_name("optimizer setting", setting, all));
  }
  throw Error(fmt::format("{} ({} formula) has no setting {}: it has {}", name(),
                          to_string(formula()), known, fmt::join(own, ", ")));
}

}  // namespace onward
