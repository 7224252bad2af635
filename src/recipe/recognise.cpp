#include <algorithm>

#include "infer/infer.h"
#include "onward/error.h"
#include "recipe/build.h"
#include "recipe/compare.h"
#include "recipe/inference_part.h"
#include "recipe/loss_extraction.h"
#include "recipe/parameters.h"
#include "recipe/recipe_json.h"
#include "recipe/standard_nodes.h"

namespace onward {
namespace {

const std::string* hint_of(const Graph& algorithm) {
  for (const auto& [key, text] : algorithm.metadata) {
    if (key == kRecipeKey) return &text;
  }
  return nullptr;
}

const Node* only_gradient(const Graph& algorithm) {
  const Node* found = nullptr;
  for (const auto& node : algorithm.nodes()) {
    if (node->op != "Gradient" || node->domain != kTrainingDomain) continue;
    if (found) throw Error("several Gradient nodes");
    found = node.get();
  }
  if (!found) throw Error("no Gradient node");
  return found;
}

Value* find_value(const Graph& graph, const std::string& name) {
  for (Value* input : graph.inputs()) {
    if (input->name() == name) return input;
  }
  for (const auto& node : graph.nodes()) {
    for (const auto& output : node->outputs()) {
      if (output && output->name() == name) return output.get();
    }
  }
  throw Error("no value '" + name + "'");
}

std::vector<Value*> find_values(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<Value*> found;
  for (const std::string& name : names) found.push_back(find_value(graph, name));
  return found;
}

/// Patterns are only kept where they still say which tensors are trained.
void set_patterns(Recipe& recipe, const Model& copy, const TrainingPlan& plan) {
  try {
    if (choose_parameters(copy, loss_targets(copy, plan), recipe).trained == plan.parameters)
      return;
  } catch (const Error&) {  // a pattern that matches nothing any more
  }
  recipe.freeze = {"*"};
  recipe.train.clear();
  for (const Value* parameter : plan.parameters) recipe.train.push_back(parameter->name());
}

/// Where the parts of what was built anew are in the file.
class Translation {
 public:
  Translation(const ValueMap& ours_to_built) {
    for (const auto& [ours, built] : ours_to_built) back_.emplace(built, ours);
  }
  const Value* operator()(const Value* built) const { return built ? back_.at(built) : nullptr; }

 private:
  std::unordered_map<const Value*, const Value*> back_;
};

Recognised translate(const Built& built, const Translation& to_ours) {
  Recognised result;
  result.loss = to_ours(built.loss.loss);
  result.label = to_ours(built.loss.label);
  result.learning_rate = to_ours(built.optimizer.learning_rate);
  result.step = to_ours(built.optimizer.step);
  for (size_t i = 0; i < built.gradients.size(); ++i) {
    TrainedTensor trained{to_ours(built.gradients[i].parameter),
                          to_ours(built.gradients[i].gradient), built.optimizer.slots[i]};
    for (Slot& slot : trained.slots) slot.value = to_ours(slot.value);
    result.trained.push_back(std::move(trained));
  }
  for (const NodePair& pair : built.forward.nodes) {
    result.forward.push_back({to_ours(pair.inference->output(0))->producer(),
                              to_ours(pair.training->output(0))->producer()});
  }
  return result;
}

/// The graph of a custom loss, out of the algorithm: its nodes follow those of the forward pass in
/// training, which the recipe gives anew.
Model extract_loss(const Model& model, const TrainingInfo& info, const Value* loss,
                   const RecipeHint& hint) {
  Model scratch = std::move(inference_part(model).model);
  Algorithm algorithm(scratch, model.opset("").value());
  const TrainingForward forward = write_training_forward(
      algorithm, *scratch.graph, find_values(*scratch.graph, hint.reads), hint.recipe);
  std::unordered_map<const Value*, std::string> names;  // of our twins, in the inference graph
  auto ours = info.algorithm->nodes().begin();
  for (const auto& node : algorithm.graph().nodes()) {
    if (ours == info.algorithm->nodes().end()) throw Error("the forward pass is cut short");
    for (const auto& [value, twin] : forward.twins) {
      if (twin->producer() != node.get()) continue;
      names.emplace((*ours)->output(static_cast<size_t>(twin->output_index())), value->name());
    }
    ++ours;
  }
  const auto begin = ours;
  while (ours != info.algorithm->nodes().end() && (*ours)->op != "Gradient") ++ours;
  return LossExtraction(model, *info.algorithm, names).take(begin, ours, loss);
}

std::optional<Recognised> by_hint(const Model& model, const TrainingInfo& info,
                                  const std::string& text) {
  RecipeHint hint = hint_from_json(text);
  const Node& gradient = *only_gradient(*info.algorithm);
  const auto* xs = gradient.get<References>("xs");
  const auto* y = gradient.get<References>("y");
  if (!xs || !y) return std::nullopt;

  auto [copy, around] = inference_part(model);
  Problems ignored;  // a model with problems does not match in the end
  infer_types(copy, ignored);
  TrainingPlan plan{.recipe = hint.recipe};
  for (Value* parameter : xs->values) plan.parameters.push_back(mapped(around, parameter));
  const bool all_initializers =
      std::all_of(plan.parameters.begin(), plan.parameters.end(), [&](const Value* parameter) {
        return &parameter->graph() == copy.graph.get() && parameter->tensor();
      });
  if (!all_initializers) return std::nullopt;
  std::optional<Model> loss;
  if (hint.recipe.loss == kCustomLoss) {
    loss = extract_loss(model, info, y->values.at(0), hint);
    plan.custom_loss = loss->graph.get();
  } else {
    plan.prediction = find_values(*copy.graph, hint.reads).at(0);
  }
  set_patterns(hint.recipe, copy, plan);

  const Built built = build_training(copy, plan);
  const auto matched = match({info, built.info, around});
  if (!matched) return std::nullopt;
  const Translation to_ours(*matched);
  Recognised result = translate(built, to_ours);
  result.prediction = to_ours(plan.prediction);
  result.recipe = hint.recipe;
  result.recipe.optimizer.set("learning_rate", result.learning_rate->tensor()->number(0));
  if (loss) result.recipe.loss_graph = std::make_shared<const Model>(std::move(*loss));
  return result;
}

}  // namespace

std::optional<Recognised> recognise(const Model& model, size_t info) {
  const TrainingInfo& training = model.training.at(info);
  if (!training.algorithm) return std::nullopt;
  if (const std::string* hint = hint_of(*training.algorithm)) {
    try {
      if (auto recognised = by_hint(model, training, *hint)) return recognised;
    } catch (const Error&) {  // the hint is stale: it says what can't be built
    }
  }
  return by_standard_nodes(model, training);
}

}  // namespace onward
