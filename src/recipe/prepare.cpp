#include <fmt/format.h>

#include <algorithm>

#include "check/check.h"
#include "infer/infer.h"
#include "onward/error.h"
#include "opset/lift.h"
#include "recipe/build.h"
#include "recipe/gradient_clipping.h"
#include "recipe/inference_part.h"
#include "recipe/initializers.h"
#include "recipe/loss_def.h"
#include "recipe/parameters.h"
#include "recipe/prepare_notes.h"
#include "recipe/recipe_json.h"
#include "recipe/schedule_def.h"
#include "recipe/training_forward.h"
#include "recipe/training_gaps.h"
#include "recipe/transfer.h"

namespace onward {
namespace {

// What a training file is written for at least, so that its parts need be known in one form only.
constexpr int64_t kMinOpset = 17;
constexpr int64_t kIrOfLeastOpset = 8;

int64_t newest_node(const Model& model) {
  int64_t newest = model.opset("").value_or(kMinOpset);
  for_each_node(*model.graph, [&](const Node& node) {
    if (node.domain.empty()) newest = std::max(newest, node.opset);
  });
  return newest;
}

/// Brings a model and its parts (a loss, a head) to one opset, 17 or newer.
void lift_together(Model& model, const std::vector<Model*>& parts,
                   std::vector<std::string>& notes) {
  const int64_t before = model.opset("").value_or(0);
  int64_t opset = std::max(kMinOpset, newest_node(model));
  for (const Model* part : parts) opset = std::max(opset, newest_node(*part));
  for (Model* part : parts) lift_to(*part, opset);
  if (before == opset) return;
  lift_to(model, opset);
  notes.push_back(fmt::format("the model is upgraded from opset {} to {}", before, opset));
}

void infer(Model& model, std::string_view what) {
  Problems problems;
  infer_types(model, problems);
  try {
    problems.throw_if_errors();
  } catch (Error& error) {
    error.add_context(fmt::format("in the {}", what));
    throw;
  }
}

void import_training_domain(Model& model) {
  if (!model.opset(kTrainingDomain)) model.opsets.push_back({std::string(kTrainingDomain), 1});
}

/// What `onward check` calls invalid is refused, before and after.
void refuse_invalid(Model& model, std::string_view what) {
  Problems problems;
  check(model, problems);
  try {
    problems.throw_if_errors();
  } catch (Error& error) {
    error.add_context(fmt::format("in the {}", what));
    throw;
  }
}

/// Without --force, a file is worth writing only where Onward can train it.
void note_or_refuse_gaps(const Model& model, bool force, std::vector<std::string>& notes) {
  std::string all;
  for (const std::string& gap : training_gaps(model, model.training.size() - 1)) {
    notes.push_back(fmt::format("Onward cannot train this model: {}", gap));
    all += notes.back() + "\n";
  }
  if (all.empty() || force) return;
  throw Error(all + "--force prepares it anyway, for other runtimes to train",
              ErrorCode::unsupported);
}

/// Only known now: a custom loss's shape may follow from the model's.
void require_scalar(const Value& loss) {
  if (!loss.type.shape || loss.type.shape->empty()) return;
  throw Error(fmt::format("the loss '{}' is {}, not a scalar", loss.name(), to_string(loss.type)));
}

/// A setting that would change nothing is a mistake about the model or the loss.
void refuse_idle_settings(const Model& model, const TrainingPlan& plan) {
  const Recipe& recipe = plan.recipe;
  const LossDef* loss = find_loss(recipe.loss);
  check_loss_settings(recipe);
  const OptimizerDef& optimizer = recipe.optimizer.def();
  const bool starts_slots = std::ranges::find(optimizer.slots, "learning_rate",
                                              &SlotDef::starts_with) != optimizer.slots.end();
  if (starts_slots && has_schedule(recipe)) {
    throw Error(
        fmt::format("a schedule has no effect on {}, whose learning rate is that of the "
                    "first step only",
                    optimizer.name));
  }
  if (!loss && recipe.reduction != Reduction::mean) {
    throw Error("reduction does not apply to a custom loss: reduce in its graph");
  }
  if (plan.custom_loss && !recipe.output.empty() &&
      std::ranges::find(plan.custom_loss->inputs(), recipe.output, &Value::name) ==
          plan.custom_loss->inputs().end()) {
    throw Error(
        fmt::format("the custom loss has no input '{}': it selects the model's outputs by the "
                    "names of its inputs",
                    recipe.output));
  }
  const bool by_batch = recipe.batch_norm == BatchNormMode::batch;
  const bool unbiased = recipe.batch_variance == BatchVariance::unbiased;
  if (!by_batch && (recipe.batch_momentum || unbiased)) {
    throw Error(
        fmt::format("{} has no effect with frozen BatchNormalization: train on batch statistics "
                    "with --bn batch (batch_norm=\"batch\" in Python)",
                    recipe.batch_momentum ? "batch_momentum" : "unbiased batch_variance"));
  }
  if (!recipe.batch_momentum) return;
  if (!(*recipe.batch_momentum >= 0 && *recipe.batch_momentum <= 1)) {
    throw Error(fmt::format("batch_momentum must be from 0 to 1, not {}", *recipe.batch_momentum));
  }
  if (!trains_batch_norm(*model.graph, loss_targets(model, plan), recipe)) {
    throw Error("batch_momentum has no effect: the loss depends on no BatchNormalization");
  }
}

}  // namespace

Prepared prepare_with_reasons(Model model, const Recipe& given) {
  if (!model.training.empty() && !given.replace) {
    throw Error(
        fmt::format("the model already has {} training info{} (loss, gradients, optimizer): "
                    "replace it with --replace",
                    model.training.size(), model.training.size() == 1 ? "" : "s"));
  }
  if (!model.training.empty()) model = std::move(inference_part(model).model);
  if ((find_loss(given.loss) == nullptr) != (given.loss_graph != nullptr)) {
    throw Error("a loss graph is given, but the loss is not custom, or the reverse");
  }
  check_settings(given.optimizer);
  check_schedule(given);
  check_clipping(given.clip);
  if (given.ema) check_setting({.name = "ema", .range = SettingRange::fraction}, *given.ema);
  Prepared prepared;
  refuse_invalid(model, "model");
  std::optional<Model> loss, head;
  // Copies: they may serve several models, and are lifted here.
  if (given.loss_graph) loss = std::move(inference_part(*given.loss_graph).model);
  if (given.head) head = std::move(inference_part(*given.head).model);
  std::vector<Model*> parts;
  for (auto* part : {&loss, &head}) {
    if (*part) parts.push_back(&**part);
  }
  lift_together(model, parts, prepared.notes);
  if (const size_t lifted = lift_weights_of_subgraphs(model, given.train)) {
    prepared.notes.push_back(
        fmt::format("{} weight{} inside of branches and loops became initializers of the model, "
                    "since only those can be trained",
                    lifted, lifted == 1 ? "" : "s"));
  }
  infer(model, "model");
  if (head) infer(*head, "head");
  const Transfer transferred = transfer(model, given, std::move(head), prepared.notes);
  const Recipe& recipe = transferred.recipe;

  TrainingPlan plan{.recipe = recipe};
  if (loss) {
    infer(*loss, "loss");
    check_custom_loss(model, *loss->graph);
    plan.custom_loss = loss->graph.get();
  } else {
    const LossInput input = find_loss_input(model, recipe);
    plan.prediction = input.prediction;
    if (!input.note.empty()) prepared.notes.push_back(input.note);
  }
  refuse_idle_settings(model, plan);
  ParameterChoice choice =
      choose_parameters(model, loss_targets(model, plan), recipe, transferred.head);
  prepared.decisions = std::move(choice.decisions);
  plan.parameters = as_initializers(*model.graph, choice.trained);
  if (recipe.batch_norm == BatchNormMode::batch) make_statistics_initializers(*model.graph);

  for (auto& notes : {model_notes(model), untrained_notes(prepared.decisions)}) {
    prepared.notes.insert(prepared.notes.end(), notes.begin(), notes.end());
  }
  for (std::string& note :
       training_forward_notes(*model.graph, loss_targets(model, plan), recipe)) {
    prepared.notes.push_back(std::move(note));
  }
  for (std::string& note : optimizer_notes(recipe.optimizer)) {
    prepared.notes.push_back(std::move(note));
  }
  Built built = build_training(model, plan);
  RecipeHint hint{recipe, {}};
  for (const Value* read : loss_targets(model, plan)) hint.reads.push_back(read->name());
  built.info.algorithm->metadata.emplace_back(kRecipeKey, to_json(hint));
  model.training.push_back(std::move(built.info));
  import_training_domain(model);
  model.ir_version = std::max(model.ir_version, kIrOfLeastOpset);
  refuse_invalid(model, "model with its training info");
  require_scalar(*model.training.back().algorithm->outputs()[0]);
  note_or_refuse_gaps(model, recipe.force, prepared.notes);
  prepared.model = std::move(model);
  return prepared;
}

Model prepare(Model model, const Recipe& recipe) {
  return std::move(prepare_with_reasons(std::move(model), recipe).model);
}

}  // namespace onward
