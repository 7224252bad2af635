// What a recipe may say of its loss.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/suggestion.h"
#include "onward/error.h"
#include "recipe/loss_def.h"
#include "recipe/optimizer.h"

namespace onward {
namespace {

using Applies = bool (*)(const LossDef&, std::string_view setting);

/// Whose setting it is, for a message.
[[noreturn]] void refuse(std::string_view setting, const Recipe& recipe, Applies applies) {
  std::vector<std::string_view> owners;
  for (const LossDef& each : losses()) {
    if (applies(each, setting)) owners.push_back(each.name);
  }
  if (!owners.empty()) {
    throw Error(fmt::format("{} applies to {} only, not to {}", setting, fmt::join(owners, ", "),
                            recipe.loss));
  }
  std::vector<std::string_view> names;
  for (const SettingUse& each : loss_settings()) names.push_back(each.name);
  throw Error(unknown_name("loss setting", setting, names));
}

void check_class_weights(const Recipe& recipe, bool smooths) {
  for (const double weight : recipe.class_weights) {
    if (!(weight >= 0 && std::isfinite(weight))) {
      throw Error(
          fmt::format("class_weights must be finite numbers of at least 0, not {}", weight));
    }
    if (weight == 0 && smooths) {
      throw Error("class_weights must be above 0 with label_smoothing, which counts all classes");
    }
  }
}

}  // namespace

std::vector<SettingUse> loss_settings() { return setting_uses(losses()); }

bool has_loss_settings(const Recipe& recipe) {
  if (!recipe.class_weights.empty() || recipe.class_axis != 1) return true;
  const LossDef& loss = *find_loss(recipe.loss);
  return std::ranges::any_of(recipe.loss_settings, [&](const auto& each) {
    return each.second != loss.find(each.first)->preset;
  });
}

void check_loss_settings(const Recipe& recipe) {
  const LossDef* loss = find_loss(recipe.loss);
  for (const auto& [name, value] : recipe.loss_settings) {
    const SettingDef* setting = loss ? loss->find(name) : nullptr;
    if (!setting) {
      refuse(name, recipe, [](const LossDef& each, std::string_view wanted) {
        return each.find(wanted) != nullptr;
      });
    }
    check_setting(*setting, value);
  }
  const auto has_classes = [](const LossDef& each, std::string_view) { return each.has_classes(); };
  if (recipe.ignore_index && !(loss && loss->ignores_labels())) {
    refuse("ignore_index", recipe,
           [](const LossDef& each, std::string_view) { return each.ignores_labels(); });
  }
  if (!recipe.class_weights.empty() && !(loss && loss->weighs_classes())) {
    refuse("class_weights", recipe, has_classes);
  }
  if (recipe.class_axis != 1 && !(loss && loss->has_classes())) {
    refuse("class_axis", recipe, has_classes);
  }
  const auto smoothing = recipe.loss_settings.find("label_smoothing");
  check_class_weights(recipe, smoothing != recipe.loss_settings.end() && smoothing->second != 0);
}

}  // namespace onward
