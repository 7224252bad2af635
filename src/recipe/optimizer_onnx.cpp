// The standard's own optimizer nodes. Their numbers are attributes, so float32. There is none for
// plain gradient descent, which needs no numbers: it is written as p - lr g.

#include <fmt/format.h>

#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/optimizer_parts.h"

namespace onward {
namespace {

using Parameters = std::span<const ParameterGradient>;

/// A node of the standard: what it is called, its numbers, and the state it keeps for a parameter.
struct Form {
  std::string_view op;
  std::vector<std::pair<std::string_view, double>> numbers;
  std::vector<std::string> slots;
  double first = 0;  // what slots start with
};

Form form_of(const OptimizerSettings& s) {
  switch (s.kind) {
    case OptimizerKind::adam:
      return {"Adam",
              {{"alpha", s.beta1},
               {"beta", s.beta2},
               {"epsilon", s.epsilon},
               {"norm_coefficient", s.weight_decay}},
              {"V", "H"}};
    case OptimizerKind::adamw:
      return {"Adam",
              {{"alpha", s.beta1},
               {"beta", s.beta2},
               {"epsilon", s.epsilon},
               {"norm_coefficient_post", s.weight_decay}},
              {"V", "H"}};
    case OptimizerKind::adagrad:
      return {"Adagrad",
              {{"epsilon", s.epsilon},
               {"decay_factor", s.rate_decay},
               {"norm_coefficient", s.weight_decay}},
              {"H"},
              s.initial_accumulator};
    default:
      return {
          "Momentum",
          {{"alpha", s.momentum}, {"beta", 1 - s.dampening}, {"norm_coefficient", s.weight_decay}},
          {"V"}};
  }
}

OptimizerState sgd(StepParts& parts, Parameters parameters) {
  if (parts.settings().weight_decay != 0) {
    throw Error("sgd in the formula of onnx has no weight_decay: take the formula of torch");
  }
  Rounded rate(parts.learning_rate());
  OptimizerState state = parts.state();
  for (const ParameterGradient& each : parameters) {
    ParameterUpdate u(parts, each);
    u.set_parameter(u.parameter() - u.rounded(rate) * u.gradient());
    state.slots.emplace_back();
  }
  return state;
}

void refuse_other_types(Parameters parameters) {
  for (const ParameterGradient& each : parameters) {
    const Type& type = each.parameter->type;
    if (type.dtype == DType::f32 || type.dtype == DType::f64) continue;
    throw Error(fmt::format("'{}' is {}, but the standard's optimizer nodes take float and double",
                            each.parameter->name(), to_string(type)));
  }
}

}  // namespace

OptimizerState write_onnx_optimizer(Algorithm& algorithm, const OptimizerSettings& settings,
                                    Parameters parameters) {
  const DType dtype = parameters[0].parameter->type.dtype;
  StepParts parts(algorithm, settings, dtype);
  if (settings.kind == OptimizerKind::sgd) return sgd(parts, parameters);
  refuse_other_types(parameters);
  const Form form = form_of(settings);
  const Expr steps = parts.count_steps("T");
  OptimizerState state = parts.state();

  // Inputs: R, T, all parameters, all gradients, all slots of one kind after the other.
  std::vector<Value*> inputs = {state.learning_rate, steps.value()}, targets;
  for (const ParameterGradient& each : parameters) targets.push_back(each.parameter);
  inputs.insert(inputs.end(), targets.begin(), targets.end());
  for (const ParameterGradient& each : parameters) inputs.push_back(each.gradient);
  state.slots.resize(parameters.size());
  for (const std::string& name : form.slots) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& tensor = *parameters[i].parameter->tensor();
      Value* slot = algorithm.add_state(parameters[i].parameter->name() + "." + name,
                                        filled_tensor(form.first, tensor.dtype(), tensor.dims()));
      state.slots[i].push_back({name, slot});
      inputs.push_back(slot);
      targets.push_back(slot);
    }
  }

  Node* node = algorithm.graph().add_node(form.op, std::move(inputs));
  node->domain = kTrainingDomain;
  node->opset = 1;
  for (const auto& [name, number] : form.numbers) {
    set_attribute(*node, name, static_cast<float>(number));
  }
  if (form.op == "Momentum") {
    const bool nesterov = settings.kind == OptimizerKind::nesterov;
    set_attribute(*node, "mode", std::string(nesterov ? "nesterov" : "standard"));
  }
  for (Value* target : targets) {
    algorithm.update(target, node->add_output(target->name() + ".next", target->type));
  }
  return state;
}

}  // namespace onward
