#include "recipe/recipe_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "onward/error.h"
#include "recipe/loss_def.h"
#include "recipe/optimizer_def.h"
#include "recipe/schedule_def.h"

namespace onward {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

/// What a hint has of every optimizer, whether or not it is a setting of it: earlier builds ask for
/// all of these.
struct AlwaysWritten {
  const char* name;
  double unused;
};
constexpr AlwaysWritten kAlwaysWritten[] = {
    {"learning_rate", 0}, {"weight_decay", 0}, {"momentum", 0.9},
    {"dampening", 0},     {"beta1", 0.9},      {"beta2", 0.999},
    {"epsilon", 0},       {"rate_decay", 0},   {"initial_accumulator", 0},
};

struct ClippingName {
  const char* name;
  std::optional<double> Clipping::* bound;
};
constexpr ClippingName kClipping[] = {{"clip_norm", &Clipping::norm},
                                      {"clip_norm_each", &Clipping::norm_each},
                                      {"clip_value", &Clipping::value}};

Json optimizer_json(const OptimizerSettings& settings) {
  Json json = {{"kind", settings.name()}, {"formula", to_string(settings.formula())}};
  for (const auto& [name, unused] : kAlwaysWritten) json[name] = unused;
  for (const SettingDef& each : settings.def().settings) {
    json[std::string(each.name)] = settings[each.name];
  }
  json["float32_numbers"] = settings.float32_numbers;
  return json;
}

OptimizerSettings optimizer_from(const Json& json) {
  OptimizerSettings settings = default_settings(json.at("kind").get<std::string>(),
                                                formula_of(json.at("formula").get<std::string>()));
  for (const SettingDef& each : settings.def().settings) {
    // Hints of earlier builds lack settings that were added later.
    settings.set(each.name, json.value(std::string(each.name), each.preset));
  }
  settings.float32_numbers = json.value("float32_numbers", false);
  return settings;
}

}  // namespace

std::string to_json(const RecipeHint& hint) {
  const Recipe& recipe = hint.recipe;
  Json json;
  json["version"] = kVersion;
  json["loss"] = recipe.loss;
  json["output"] = recipe.output;
  json["reads"] = hint.reads;
  json["loss_reads"] = to_string(recipe.loss_reads);
  json["ignore_index"] = recipe.ignore_index ? Json(*recipe.ignore_index) : Json(nullptr);
  json["optimizer"] = optimizer_json(recipe.optimizer);
  json["train"] = recipe.train;
  json["freeze"] = recipe.freeze;
  json["batch_norm"] = to_string(recipe.batch_norm);
  json["batch_variance"] = to_string(recipe.batch_variance);
  json["batch_momentum"] = recipe.batch_momentum ? Json(*recipe.batch_momentum) : Json(nullptr);
  json["dropout"] = recipe.dropout;
  // Earlier builds know nothing else than means.
  if (recipe.reduction != Reduction::mean) json["reduction"] = to_string(recipe.reduction);
  if (!recipe.loss_settings.empty()) json["loss_settings"] = recipe.loss_settings;
  if (!recipe.class_weights.empty()) json["class_weights"] = recipe.class_weights;
  if (recipe.class_axis != 1) json["class_axis"] = recipe.class_axis;
  for (const ParameterGroup& each : recipe.groups) {
    json["groups"].push_back({{"pattern", each.pattern}, {"settings", each.settings}});
  }
  if (!recipe.decays_biases) json["decays_biases"] = false;
  if (recipe.schedule != "constant") json["schedule"] = recipe.schedule;
  if (!recipe.schedule_settings.empty()) json["schedule_settings"] = recipe.schedule_settings;
  if (recipe.ema) json["ema"] = *recipe.ema;
  for (const auto& [name, bound] : kClipping) {
    if (recipe.clip.*bound) json[name] = *(recipe.clip.*bound);
  }
  return json.dump();
}

RecipeHint hint_from_json(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version") != kVersion) {
      throw Error(fmt::format("a recipe of version {}", json.at("version").dump()));
    }
    RecipeHint hint;
    Recipe& recipe = hint.recipe;
    recipe.loss = json.at("loss").get<std::string>();
    find_loss(recipe.loss);
    recipe.output = json.at("output").get<std::string>();
    hint.reads = json.at("reads").get<std::vector<std::string>>();
    recipe.loss_reads = loss_reads_of(json.value("loss_reads", "logits"));
    const Json ignore_index = json.value("ignore_index", Json(nullptr));
    if (!ignore_index.is_null()) recipe.ignore_index = ignore_index.get<int64_t>();
    recipe.optimizer = optimizer_from(json.at("optimizer"));
    recipe.train = json.at("train").get<std::vector<std::string>>();
    recipe.freeze = json.at("freeze").get<std::vector<std::string>>();
    recipe.batch_norm = batch_norm_mode(json.at("batch_norm").get<std::string>());
    recipe.batch_variance = batch_variance_of(json.at("batch_variance").get<std::string>());
    if (!json.at("batch_momentum").is_null()) {
      recipe.batch_momentum = json.at("batch_momentum").get<double>();
    }
    recipe.dropout = json.at("dropout").get<bool>();
    recipe.reduction = reduction_of(json.value("reduction", "mean"));
    recipe.loss_settings = json.value("loss_settings", recipe.loss_settings);
    recipe.class_weights = json.value("class_weights", recipe.class_weights);
    recipe.class_axis = json.value("class_axis", recipe.class_axis);
    for (const Json& each : json.value("groups", Json::array())) {
      ParameterGroup& group = recipe.groups.emplace_back();
      group.pattern = each.at("pattern").get<std::string>();
      group.settings = each.at("settings").get<decltype(group.settings)>();
    }
    recipe.decays_biases = json.value("decays_biases", true);
    recipe.schedule = json.value("schedule", recipe.schedule);
    find_schedule(recipe.schedule);
    recipe.schedule_settings = json.value("schedule_settings", recipe.schedule_settings);
    if (json.contains("ema")) recipe.ema = json.at("ema").get<double>();
    for (const auto& [name, bound] : kClipping) {
      if (json.contains(name)) recipe.clip.*bound = json.at(name).get<double>();
    }
    return hint;
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("no recipe: {}", error.what()));
  }
}

}  // namespace onward
