// What the tables of optimizers and losses say holds for what is written from them.

#include <gtest/gtest.h>

#include <set>

#include "recipe/loss_def.h"
#include "recipe/optimizer_def.h"
#include "recipe/schedule_def.h"
#include "tests/recipe/models.h"

namespace onward {
namespace {

/// As it is by default, and with every setting that may be so on.
std::vector<OptimizerSettings> variants(const OptimizerDef& def) {
  OptimizerSettings all_on(def);
  for (const SettingDef& each : def.settings) {
    const bool is_off_by_small = each.range == SettingRange::above_one;
    all_on.set(each.name, each.range == SettingRange::on_off ? 1 : is_off_by_small ? 1.25 : 0.25);
  }
  return {OptimizerSettings(def), all_on};
}

TEST(OptimizerTable, SlotsAndCountAreThoseOfTheRow) {
  for (const OptimizerDef& def : optimizers()) {
    for (const OptimizerSettings& settings : variants(def)) {
      Recipe recipe{.loss = "mse"};
      recipe.optimizer = settings;
      const Model model = prepare(model_of(kLinear), recipe);
      const auto recognised = recognise(model, 0);
      ASSERT_TRUE(recognised) << def.name;
      EXPECT_EQ(recognised->recipe.optimizer, settings) << def.name;
      std::set<std::string> expected, written;
      for (const SlotDef& slot : def.slots) {
        if (is_kept(slot, settings)) expected.emplace(slot.name);
      }
      for (const Slot& slot : recognised->trained.at(0).slots) written.insert(slot.name);
      EXPECT_EQ(written, expected) << def.name;
      EXPECT_EQ(recognised->step != nullptr, counts_steps(settings)) << def.name;
      if (recognised->step) {
        EXPECT_EQ(recognised->step->name(), def.counter);
      }
    }
  }
}

TEST(OptimizerTable, EveryRowHasItsWords) {
  std::set<std::pair<std::string_view, Formula>> seen;
  for (const OptimizerDef& def : optimizers()) {
    EXPECT_TRUE(seen.emplace(def.name, def.formula).second) << def.name << " stands twice";
    EXPECT_EQ(def.settings.at(0).name, "learning_rate") << def.name;
    EXPECT_NE(def.update == nullptr, def.node.op.empty()) << def.name;
    EXPECT_EQ(def.classes.empty(), def.formula == Formula::onnx) << def.name;
    for (const SettingDef& each : def.settings) {
      EXPECT_TRUE(def.formula == Formula::onnx || !each.option.empty()) << each.name;
    }
    for (const SlotDef& each : def.slots) {
      EXPECT_EQ(each.attribute.empty(), def.formula != Formula::keras) << each.name;
      for (const std::string_view setting : {each.starts_with, each.kept_with}) {
        EXPECT_TRUE(setting.empty() || def.find(setting)) << setting;
      }
    }
  }
}

TEST(LossTable, EveryRowHasItsWords) {
  std::set<std::string_view> seen = {kCustomLoss};
  for (const LossDef& def : losses()) {
    EXPECT_TRUE(seen.insert(def.name).second) << def.name << " stands twice";
    EXPECT_NE(def.each == nullptr, def.whole == nullptr) << def.name;
    for (const LossClass& each : {def.torch, def.keras}) {
      EXPECT_EQ(each.name.empty(), each.function.empty()) << def.name;
    }
    for (const SettingDef& each : def.settings) {
      for (const SettingUse& other : optimizer_settings()) EXPECT_NE(each.name, other.name);
    }
  }
}

TEST(ScheduleTable, RecipesAreRecognised) {
  for (const ScheduleDef& def : schedules()) {
    for (const Formula formula : {Formula::torch, Formula::keras, Formula::onnx}) {
      Recipe recipe{.loss = "mse"};
      recipe.optimizer = default_settings("sgd", formula);
      recipe.schedule = def.name;
      for (const SettingDef& each : def.settings) {
        const bool counts = each.range == SettingRange::count || each.range == SettingRange::steps;
        recipe.schedule_settings.emplace(std::string(each.name), counts ? 5 : 0.25);
      }
      recipe.clip.norm = 2;
      recipe.ema = 0.75;
      recipe.groups = {{.pattern = "w", .settings = {{"lr", 0.5}}}};
      const Model model = prepare(model_of(kLinear), recipe);
      const auto recognised = recognise(model, 0);
      ASSERT_TRUE(recognised) << def.name;
      EXPECT_EQ(recognised->recipe.schedule, def.name);
      EXPECT_EQ(recognised->recipe.schedule_settings, recipe.schedule_settings) << def.name;
      EXPECT_EQ(recognised->recipe.clip, recipe.clip);
      EXPECT_EQ(recognised->recipe.ema, recipe.ema);
      EXPECT_EQ(recognised->recipe.groups, recipe.groups);
      EXPECT_NE(recognised->step, nullptr) << def.name;
    }
  }
}

TEST(ScheduleTable, EveryRowHasItsWords) {
  std::set<std::string_view> others;
  for (const SettingUse& each : optimizer_settings()) others.insert(each.name);
  for (const SettingUse& each : loss_settings()) others.insert(each.name);
  for (const ScheduleDef& def : schedules()) {
    for (const SettingDef& each : def.settings) EXPECT_FALSE(others.contains(each.name));
    EXPECT_EQ(def.factor == nullptr, def.name == "constant") << def.name;
  }
}

/// Every setting other than it is in the row.
TEST(LossTable, RecipesAreRecognised) {
  for (const LossDef& def : losses()) {
    Recipe recipe{.loss = std::string(def.name)};
    for (const SettingDef& each : def.settings) {
      recipe.loss_settings.emplace(std::string(each.name), each.preset == 0.25 ? 0.5 : 0.25);
      if (each.range == SettingRange::on_off) {
        recipe.loss_settings[std::string(each.name)] = 1 - each.preset;
      }
    }
    if (def.has_classes()) recipe.class_weights = {0.5, 1.5, 2};
    const Model model = prepare(model_of(kConvolutional), recipe);
    const auto recognised = recognise(model, 0);
    ASSERT_TRUE(recognised) << def.name;
    EXPECT_EQ(recognised->recipe.loss, def.name);
    EXPECT_EQ(recognised->recipe.loss_settings, recipe.loss_settings) << def.name;
    EXPECT_EQ(recognised->recipe.class_weights, recipe.class_weights) << def.name;
  }
}

}  // namespace
}  // namespace onward
