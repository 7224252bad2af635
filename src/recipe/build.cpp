#include "recipe/build.h"

#include <algorithm>

#include "ir/dependence.h"
#include "onward/error.h"

namespace onward {
namespace {

/// What a custom loss means by an input of that name: an output of the model or, as an autoencoder
/// wants it, an input.
Value* find_for_loss(const Model& model, const std::string& name) {
  for (const auto list : {model.graph->outputs(), model.graph->inputs()}) {
    for (Value* value : list) {
      if (value->name() == name) return value;
    }
  }
  return nullptr;
}

WrittenLoss write_any_loss(Algorithm& algorithm, const Model& model, const TrainingPlan& plan,
                           const TrainingForward& forward) {
  if (!plan.custom_loss) {
    return write_loss(algorithm, plan.recipe, mapped(forward.twins, plan.prediction));
  }
  return write_custom_loss(algorithm, *plan.custom_loss, [&](const std::string& name) -> Value* {
    Value* output = find_for_loss(model, name);
    return output ? mapped(forward.twins, output) : nullptr;
  });
}

/// The inputs of both graphs that the loss depends on: what the gradients are taken at, and hold
/// fixed.
std::vector<Value*> fixed_inputs(const Model& model, const Graph& algorithm, const Value* loss) {
  const ValueSet read = dependencies(loss);
  std::vector<Value*> fixed;
  for (const Graph* graph : {static_cast<const Graph*>(model.graph.get()), &algorithm}) {
    for (Value* input : graph->inputs()) {
      if (!input->initializer() && read.contains(input)) fixed.push_back(input);
    }
  }
  return fixed;
}

std::vector<ParameterGradient> write_gradients(Algorithm& algorithm, const Model& model,
                                               const std::vector<Value*>& parameters, Value* loss) {
  const std::vector<Value*> fixed = fixed_inputs(model, algorithm.graph(), loss);
  std::vector<Value*> inputs = parameters;
  inputs.insert(inputs.end(), fixed.begin(), fixed.end());
  Node* node = algorithm.graph().add_node("Gradient", inputs);
  node->domain = kTrainingDomain;
  node->opset = 1;
  set_attribute(*node, "xs", References{.values = parameters});
  if (!fixed.empty()) set_attribute(*node, "zs", References{.values = fixed});
  set_attribute(*node, "y", References{.values = {loss}, .single = true});
  std::vector<ParameterGradient> gradients;
  for (Value* parameter : parameters) {
    const std::string name = algorithm.names().fresh(parameter->name() + ".gradient");
    Value* gradient = node->add_output(name, parameter->type);
    gradient->declared = true;  // other libraries' inference does not know what Gradient gives
    gradients.push_back({parameter, gradient});
  }
  return gradients;
}

}  // namespace

std::vector<Value*> loss_targets(const Model& model, const TrainingPlan& plan) {
  if (!plan.custom_loss) return {plan.prediction};
  std::vector<Value*> targets;
  for (const Value* input : plan.custom_loss->inputs()) {
    if (Value* output = find_for_loss(model, input->name())) targets.push_back(output);
  }
  return targets;
}

Built build_training(Model& model, const TrainingPlan& plan) {
  Algorithm algorithm(model, model.opset("").value());
  algorithm.graph().name = "step";
  Built built;
  built.forward =
      write_training_forward(algorithm, *model.graph, loss_targets(model, plan), plan.recipe);
  built.loss = write_any_loss(algorithm, model, plan, built.forward);
  algorithm.add_output(built.loss.loss);
  built.gradients = write_gradients(algorithm, model, plan.parameters, built.loss.loss);
  built.optimizer = write_optimizer(algorithm, plan.recipe, built.gradients);
  built.info = algorithm.finish();
  return built;
}

}  // namespace onward
