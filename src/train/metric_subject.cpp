// What a model's predictions are compared with.

#include <algorithm>

#include "onward/error.h"
#include "ops/op_def.h"
#include "recipe/recipe.h"
#include "recipe/recipe_json.h"
#include "train/metrics.h"

namespace onward {
namespace {

bool is_integer_tensor(const Value& value) {
  return value.type.is_tensor() && is_integer(value.type.dtype);
}

bool has_places(const Type& labels) { return labels.shape && labels.shape->size() > 1; }

void compare_classes(const Value& scores, const Value& labels, StepMetrics& metrics) {
  metrics.scores = scores.name();
  metrics.labels = labels.name();
  metrics.how.task = Task::classes;
  metrics.how.has_places = has_places(labels.type);
}

/// One label for each example, or each place: those of several questions are no binary task.
bool has_one_label(const Type& type) {
  if (!type.is_tensor() || !type.shape || type.shape->empty()) return false;
  return type.shape->size() == 1 || (*type.shape)[1].value == 1;
}

struct LossTask {
  std::string_view loss;
  Task task;
  double threshold = 0;
};

/// Of losses whose label is like the prediction.
constexpr LossTask kLossTasks[] = {
    {"bce_with_logits", Task::binary}, {"bce", Task::binary, 0.5},      {"mse", Task::regression},
    {"l1", Task::regression},          {"smooth_l1", Task::regression}, {"huber", Task::regression},
};

/// The loss that the hint of a recipe names; "custom" where there is none.
std::string hinted_loss(const Model& model, size_t info) {
  const auto& algorithm = model.training[info].algorithm;
  if (!algorithm) return std::string(kCustomLoss);
  for (const auto& [key, text] : algorithm->metadata) {
    if (key != kRecipeKey) continue;
    try {
      return hint_from_json(text).recipe.loss;
    } catch (const Error&) {  // a stale hint
    }
  }
  return std::string(kCustomLoss);
}

/// What the loss reads is a value of the inference graph, or the one that stands for it in
/// training.
const Value* read_by_loss(const Recognised& recognised) {
  const Value* prediction = recognised.prediction;
  for (const NodePair& pair : recognised.forward) {
    if (prediction && prediction->producer() == pair.inference) {
      return pair.training->output(static_cast<size_t>(prediction->output_index()));
    }
  }
  return prediction;
}

void compare_as_recipe(const Model& model, size_t info, const std::string& loss,
                       StepMetrics& metrics) {
  const auto task = std::ranges::find(kLossTasks, loss, &LossTask::loss);
  if (task == std::end(kLossTasks)) return;
  const auto recognised = recognise(model, info);
  if (!recognised || recognised->recipe.loss != loss || !recognised->label) return;
  const Value* scores = read_by_loss(*recognised);
  if (!scores || (task->task == Task::binary && !has_one_label(recognised->label->type))) return;
  metrics.scores = scores->name();
  metrics.labels = recognised->label->name();
  metrics.how = {.task = task->task, .threshold = task->threshold};
}

std::vector<const Value*> inputs_of_step_alone(const Model& step, const Graph& inference) {
  std::vector<const Value*> inputs;
  for (const Value* input : step.graph->inputs()) {
    const bool is_models_own = std::ranges::any_of(
        inference.inputs(), [&](const Value* each) { return each->name() == input->name(); });
    if (!is_models_own) inputs.push_back(input);
  }
  return inputs;
}

/// Scores with the only input of integer labels, or else the only output with the only input that
/// is like it.
void compare_by_types(const Model& step, const Graph& inference, StepMetrics& metrics) {
  std::vector<const Value*> integers, floats;
  for (const Value* input : inputs_of_step_alone(step, inference)) {
    if (!input->type.is_tensor()) continue;
    (is_integer(input->type.dtype) ? integers : floats).push_back(input);
  }
  if (integers.size() == 1) {
    const Value* scores = find_scores(inference, integers[0]->type);
    if (scores) compare_classes(*scores, *integers[0], metrics);
  } else if (integers.empty() && floats.size() == 1 && inference.outputs().size() == 1) {
    const Value &output = *inference.outputs()[0], &input = *floats[0];
    if (!is_float(input.type.dtype) || !output.type.shape || !input.type.shape) return;
    if (conflict(output.type, input.type)) return;
    metrics.scores = output.name();
    metrics.labels = input.name();
    metrics.how.task = Task::regression;
  }
}

const Node* find_class_loss(const Model& step) {
  for (const auto& node : step.graph->nodes()) {
    if (input_role(*node, 1) == InputRole::label && is_integer_tensor(*node->input(1))) {
      return node.get();
    }
  }
  return nullptr;
}

}  // namespace

Value* find_scores(const Graph& inference, const Type& labels) {
  Value* found = nullptr;
  for (Value* output : inference.outputs()) {
    const Type& type = output->type;
    const bool is_real = type.dtype == DType::f32 || type.dtype == DType::f64;
    if (!type.is_tensor() || !is_real || !type.shape || !labels.shape) continue;
    if (type.shape->size() != labels.shape->size() + 1 || type.shape->size() < 2) continue;
    if ((*type.shape)[1].value.value_or(2) < 2) continue;
    if (found) return nullptr;
    found = output;
  }
  return found;
}

StepMetrics find_metrics(const Model& step, const Model& model, size_t info) {
  StepMetrics metrics;
  for (const auto& node : step.graph->nodes()) {
    const auto* y = node->get<References>("y");
    if (!y || node->op != "Gradient") continue;
    const std::string& name = y->values.at(0)->name();
    if (std::ranges::find(metrics.losses, name) == metrics.losses.end()) {
      metrics.losses.push_back(name);
    }
  }
  if (const Node* loss = find_class_loss(step)) {
    compare_classes(*loss->input(0), *loss->input(1), metrics);
    if (const auto* ignored = loss->get<int64_t>("ignore_index")) metrics.how.ignored = *ignored;
    metrics.how.are_logits = true;
  } else if (const std::string hinted = hinted_loss(model, info); hinted != kCustomLoss) {
    compare_as_recipe(model, info, hinted, metrics);
  } else {
    compare_by_types(step, *model.graph, metrics);
  }
  metrics.asked = default_metrics(metrics.how);
  return metrics;
}

}  // namespace onward
