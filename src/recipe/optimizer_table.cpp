#include <fmt/format.h>

#include <algorithm>

#include "ir/suggestion.h"
#include "onward/error.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"

namespace onward {
namespace {

template <typename T>
void add_once(std::vector<T>& list, const T& each) {
  if (std::ranges::find(list, each) == list.end()) list.push_back(each);
}

}  // namespace

const SettingDef* OptimizerDef::find(std::string_view setting) const {
  const auto found = std::ranges::find(settings, setting, &SettingDef::name);
  return found == settings.end() ? nullptr : &*found;
}

const std::vector<OptimizerDef>& optimizers() {
  static const std::vector<OptimizerDef> table = [] {
    std::vector<OptimizerDef> all;
    for (const auto& [formula, rows] : {std::pair(Formula::torch, torch_optimizers()),
                                        std::pair(Formula::keras, keras_optimizers()),
                                        std::pair(Formula::onnx, onnx_optimizers())}) {
      for (const OptimizerDef& row : rows) {
        all.push_back(row);
        all.back().formula = formula;
      }
    }
    return all;
  }();
  return table;
}

const OptimizerDef& find_optimizer(std::string_view name, Formula formula) {
  std::vector<std::string_view> others;
  for (const OptimizerDef& each : optimizers()) {
    if (each.name != name) continue;
    if (each.formula == formula) return each;
    others.push_back(to_string(each.formula));
  }
  if (others.empty()) {
    throw Error(unknown_name("optimizer", name, optimizer_names()));
  }
  throw Error(fmt::format("the {1} formula has no optimizer {0}: choose the formula {2}", name,
                          to_string(formula), fmt::join(others, " or ")));
}

std::vector<std::string_view> optimizer_names() {
  std::vector<std::string_view> names;
  for (const OptimizerDef& each : optimizers()) add_once(names, each.name);
  return names;
}

std::vector<SettingUse> optimizer_settings() {
  std::vector<SettingUse> uses;
  for (const OptimizerDef& each : optimizers()) {
    for (const SettingDef& setting : each.settings) {
      if (std::ranges::find(uses, setting.name, &SettingUse::name) == uses.end()) {
        uses.push_back({setting.name, {}});
      }
    }
  }
  for (SettingUse& use : uses) {
    std::vector<std::string_view> owners;
    for (const OptimizerDef& each : optimizers()) {
      if (each.find(use.name)) add_once(owners, each.name);
    }
    const bool has_all = owners.size() == optimizer_names().size();
    use.owners = has_all ? "all optimizers" : fmt::format("{}", fmt::join(owners, ", "));
  }
  return uses;
}

bool is_kept(const SlotDef& slot, const OptimizerSettings& settings) {
  return slot.kept_with.empty() || settings.is_on(slot.kept_with);
}

bool counts_steps(const OptimizerSettings& settings) {
  const OptimizerDef& def = settings.def();
  return !def.counter.empty() && (def.counter_with.empty() || settings.is_on(def.counter_with));
}

}  // namespace onward
