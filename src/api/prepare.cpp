#include "onward/prepare.h"

#include "api/data.h"
#include "ir/copy.h"
#include "recipe/loss_def.h"
#include "recipe/recipe.h"

namespace onward::api {
namespace {

Recipe recipe_of(const PrepareOptions& options) {
  Recipe recipe;
  if (options.custom_loss) {
    recipe.loss = kCustomLoss;
    recipe.loss_graph =
        std::make_shared<const onward::Model>(copy(ModelData::of(*options.custom_loss)));
  } else {
    recipe.loss = options.loss;
    if (!find_loss(recipe.loss)) throw Error("a custom loss is given as a Model");
  }
  recipe.output = options.model_output;
  recipe.loss_reads = loss_reads_of(options.loss_reads);
  recipe.reduction = reduction_of(options.reduction);
  recipe.loss_settings.insert(options.loss_settings.begin(), options.loss_settings.end());
  recipe.ignore_index = options.ignore_index;
  recipe.class_weights = options.class_weights;
  recipe.class_axis = options.class_axis;
  recipe.optimizer =
      default_settings(options.optimizer.name, formula_of(options.optimizer.formula));
  for (const auto& [name, value] : options.optimizer.settings) {
    recipe.optimizer.set(name == "lr" ? "learning_rate" : name, value);
  }
  for (const auto& [pattern, settings] : options.groups) {
    ParameterGroup& group = recipe.groups.emplace_back();
    group.pattern = pattern;
    group.settings.insert(settings.begin(), settings.end());
  }
  recipe.decays_biases = options.decay_biases;
  recipe.schedule = options.schedule;
  recipe.schedule_settings.insert(options.schedule_settings.begin(),
                                  options.schedule_settings.end());
  recipe.ema = options.ema;
  recipe.clip = {options.clip_norm, options.clip_norm_each, options.clip_value};
  recipe.train = options.train;
  recipe.freeze = options.freeze;
  recipe.batch_norm = batch_norm_mode(options.batch_norm);
  recipe.batch_variance = batch_variance_of(options.batch_variance);
  recipe.batch_momentum = options.batch_momentum;
  recipe.dropout = options.dropout;
  recipe.replace = options.replace;
  recipe.force = options.force;
  recipe.classes = options.classes;
  recipe.head_seed = options.head_seed;
  if (options.head) {
    recipe.head = std::make_shared<const onward::Model>(copy(ModelData::of(*options.head)));
  }
  recipe.labels = options.labels;
  recipe.freeze_backbone = options.freeze_backbone;
  recipe.keep_batch = options.keep_batch;
  return recipe;
}

}  // namespace

Model prepare(const Model& model, const PrepareOptions& options) {
  return with_code(ErrorCode::invalid_argument, [&] {
    Prepared prepared = prepare_with_reasons(copy(ModelData::of(model)), recipe_of(options));
    for (const std::string& note : prepared.notes) log(LogLevel::info, note);
    return ModelData::wrap(std::move(prepared.model));
  });
}

}  // namespace onward::api
