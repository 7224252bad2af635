#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/check.h"
#include "ir/dependence.h"
#include "ir/infer.h"
#include "ir/lift.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "recipe/build.h"
#include "recipe/inference_part.h"
#include "recipe/initializers.h"
#include "recipe/parameters.h"
#include "recipe/recipe_json.h"

namespace onward {
namespace {

// What a training file is written for at least, so that its parts need be known in one form only.
constexpr int64_t kLeastOpset = 17;
constexpr int64_t kIrOfLeastOpset = 8;

int64_t newest_node(const Model& model) {
  int64_t newest = model.opset("").value_or(kLeastOpset);
  for_each_node(*model.graph, [&](const Node& node) {
    if (node.domain.empty()) newest = std::max(newest, node.opset);
  });
  return newest;
}

/// Brings model and loss to one opset, 17 or newer.
void lift_together(Model& model, Model* loss, std::vector<std::string>& notes) {
  const int64_t before = model.opset("").value_or(0);
  int64_t opset = std::max(kLeastOpset, newest_node(model));
  if (loss) opset = std::max(opset, newest_node(*loss));
  if (loss) lift_to(*loss, opset);
  if (before == opset) return;
  lift_to(model, opset);
  notes.push_back(fmt::format("the model is lifted from opset {} to {}", before, opset));
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

/// Operators between parameters and loss that Onward itself can't differentiate yet: the file says
/// what it should, but only others can train it.
void note_missing_gradients(const Built& built, const std::vector<Value*>& parameters,
                            std::vector<std::string>& notes) {
  const ValueSet reach = gradient_reach(built.loss.loss);
  ValueSet depends(parameters.begin(), parameters.end());
  std::set<std::string> missing;
  for (const Graph* graph : {built.info.algorithm->inside(), built.info.algorithm.get()}) {
    for (const auto& node : graph->nodes()) {
      if (node->domain == kTrainingDomain) continue;
      const auto reads = all_reads(*node);
      const bool reads_one = std::any_of(reads.begin(), reads.end(),
                                         [&](const Value* read) { return depends.contains(read); });
      if (!reads_one) continue;
      for (const auto& output : node->outputs()) {
        if (!output) continue;
        depends.insert(output.get());
        const OpDef* definition = find_op_def(*node);
        if (!reach.contains(output.get()) ||
            (definition && (definition->vjp || definition->no_gradient))) {
          continue;
        }
        missing.insert(fmt::format("{} (node '{}')", node->op, node->label()));
      }
    }
  }
  if (missing.empty()) return;
  notes.push_back(fmt::format("Onward has no gradient yet for {}: it can't train this file itself",
                              fmt::join(missing, ", ")));
}

void check_result(Model& model) {
  Problems problems;
  check(model, problems);
  try {
    problems.throw_if_errors();
  } catch (Error& error) {
    error.add_context("in the model with its training info");
    throw;
  }
}

/// Only known now: a custom loss's shape may follow from the model's.
void require_scalar(const Value& loss) {
  if (!loss.type.shape || loss.type.shape->empty()) return;
  throw Error(fmt::format("the loss '{}' is {}, not a scalar", loss.name(), to_string(loss.type)));
}

}  // namespace

Prepared prepare_with_reasons(Model model, const Recipe& recipe) {
  if (!model.training.empty() && !recipe.replace) {
    throw Error(
        fmt::format("the model has {} training info{} already, which can be replaced "
                    "(--replace)",
                    model.training.size(), model.training.size() == 1 ? "" : "s"));
  }
  if (!model.training.empty()) model = std::move(inference_part(model).model);
  if ((recipe.loss == LossKind::custom) != (recipe.loss_graph != nullptr)) {
    throw Error("a custom loss, and only that, has a graph");
  }
  check_settings(recipe.optimizer);
  Prepared prepared;
  std::optional<Model> loss;
  // A copy: a loss may serve several models, and is lifted here.
  if (recipe.loss_graph) loss = std::move(inference_part(*recipe.loss_graph).model);
  lift_together(model, loss ? &*loss : nullptr, prepared.notes);
  infer(model, "model");

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
  ParameterChoice choice = choose_parameters(model, loss_targets(model, plan), recipe);
  prepared.decisions = std::move(choice.decisions);
  plan.parameters = as_initializers(*model.graph, choice.trained);
  if (recipe.batch_norm == BatchNormMode::batch) make_statistics_initializers(*model.graph);

  for (std::string& note :
       training_forward_notes(*model.graph, loss_targets(model, plan), recipe)) {
    prepared.notes.push_back(std::move(note));
  }
  for (std::string& note : optimizer_notes(recipe.optimizer)) {
    prepared.notes.push_back(std::move(note));
  }
  Built built = build_training(model, plan);
  note_missing_gradients(built, plan.parameters, prepared.notes);
  RecipeHint hint{recipe, {}};
  for (const Value* read : loss_targets(model, plan)) hint.reads.push_back(read->name());
  built.info.algorithm->metadata.emplace_back(kRecipeKey, to_json(hint));
  model.training.push_back(std::move(built.info));
  import_training_domain(model);
  model.ir_version = std::max(model.ir_version, kIrOfLeastOpset);
  check_result(model);
  require_scalar(*model.training.back().algorithm->outputs()[0]);
  prepared.model = std::move(model);
  return prepared;
}

Model prepare(Model model, const Recipe& recipe) {
  return std::move(prepare_with_reasons(std::move(model), recipe).model);
}

}  // namespace onward
