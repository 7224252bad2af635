#include "recipe/recipe_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "onward/error.h"
#include "recipe/optimizer_numbers.h"

namespace onward {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Json optimizer_json(const OptimizerSettings& settings) {
  Json json = {{"kind", to_string(settings.kind)}, {"formula", to_string(settings.formula)}};
  for (const OptimizerNumber& field : optimizer_numbers())
    json[std::string(field.name)] = settings.*field.member;
  json["float32_numbers"] = settings.float32_numbers;
  return json;
}

OptimizerSettings optimizer_from(const Json& json) {
  OptimizerSettings settings;
  settings.kind = optimizer_kind(json.at("kind").get<std::string>());
  settings.formula = formula_of(json.at("formula").get<std::string>());
  for (const OptimizerNumber& field : optimizer_numbers()) {
    settings.*field.member = json.at(std::string(field.name)).get<double>();
  }
  settings.float32_numbers = json.value("float32_numbers", false);
  return settings;
}

}  // namespace

std::string to_json(const RecipeHint& hint) {
  const Recipe& recipe = hint.recipe;
  Json json;
  json["version"] = kVersion;
  json["loss"] = to_string(recipe.loss);
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
    recipe.loss = loss_kind(json.at("loss").get<std::string>());
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
    return hint;
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("no recipe: {}", error.what()));
  }
}

}  // namespace onward
