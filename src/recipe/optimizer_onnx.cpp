// The standard's own optimizer nodes. Their numbers are attributes, so float32. There is none for
// plain gradient descent, which needs no numbers: it is written as p - lr g.

#include <fmt/format.h>

#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/optimizer_parts.h"

namespace onward {
namespace {

UpdateParameter sgd(StepParts& step) {
  return [rate = Rounded(step.learning_rate())](ParameterUpdate& u) mutable {
    u.set_parameter(u.parameter() - u.rounded(rate) * u.gradient());
  };
}

void refuse_other_types(std::span<const ParameterGradient> parameters) {
  for (const ParameterGradient& each : parameters) {
    const Type& type = each.parameter->type;
    if (type.dtype == DType::f32 || type.dtype == DType::f64) continue;
    throw Error(fmt::format("'{}' is {}, but the standard's optimizer nodes take float and double",
                            each.parameter->name(), to_string(type)));
  }
}

void set_attributes(Node& node, const OptimizerSettings& settings) {
  for (const SettingDef& each : settings.def().settings) {
    if (each.option.empty()) continue;
    const double value = settings[each.name];
    set_attribute(node, each.option, static_cast<float>(each.is_complement ? 1 - value : value));
  }
  const std::string mode(settings.def().node.mode);
  if (!mode.empty()) set_attribute(node, "mode", mode);
}

// The standard gives no learning rate a default.
SettingDef rate(double preset) { return {.name = "learning_rate", .preset = preset}; }
SettingDef decay(std::string_view attribute) {
  return {.name = "weight_decay", .option = attribute};
}
constexpr SettingDef kMomentum = {
    .name = "momentum", .preset = 0.9, .range = SettingRange::fraction, .option = "alpha"};
constexpr SettingDef kDampening = {
    .name = "dampening", .range = SettingRange::finite, .option = "beta", .is_complement = true};
constexpr SettingDef kBeta1 = {
    .name = "beta1", .preset = 0.9, .range = SettingRange::fraction, .option = "alpha"};
constexpr SettingDef kBeta2 = {
    .name = "beta2", .preset = 0.999, .range = SettingRange::fraction, .option = "beta"};
constexpr SettingDef kEpsilon = {.name = "epsilon", .preset = 1e-6, .option = "epsilon"};

}  // namespace

std::vector<std::vector<Slot>> write_standard_node(StepParts& step,
                                                   std::span<const ParameterGradient> parameters) {
  refuse_other_types(parameters);
  const OptimizerDef& def = step.settings().def();

  // Inputs: R, T, all parameters, all gradients, all slots of one kind after the other.
  std::vector<Value*> inputs = {step.learning_rate().value(), step.step()}, targets;
  for (const ParameterGradient& each : parameters) targets.push_back(each.parameter);
  inputs.insert(inputs.end(), targets.begin(), targets.end());
  for (const ParameterGradient& each : parameters) inputs.push_back(each.gradient);
  std::vector<std::vector<Slot>> slots(parameters.size());
  for (const SlotDef& each : def.slots) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      ParameterUpdate u(step, parameters[i]);
      Value* slot = u.slot(std::string(each.name)).value();
      slots[i].push_back({std::string(each.name), slot});
      inputs.push_back(slot);
      targets.push_back(slot);
    }
  }

  Node* node = step.algorithm().graph().add_node(def.node.op, std::move(inputs));
  node->domain = kTrainingDomain;
  node->opset = 1;
  set_attributes(*node, step.settings());
  for (Value* target : targets) {
    step.algorithm().update(target, node->add_output(target->name() + ".next", target->type));
  }
  return slots;
}

// Attributes are written in this order, and weight_decay comes last.
std::vector<OptimizerDef> onnx_optimizers() {
  return {
      {.name = "sgd", .settings = {rate(1e-2)}, .update = sgd},
      {.name = "momentum",
       .settings = {rate(1e-2), kMomentum, kDampening, decay("norm_coefficient")},
       .slots = {{"V"}},
       .counter = "T",
       .node = {.op = "Momentum", .mode = "standard", .counts_for = "dampening"}},
      {.name = "nesterov",
       .settings = {rate(1e-2), kMomentum, kDampening, decay("norm_coefficient")},
       .slots = {{"V"}},
       .counter = "T",
       .node = {.op = "Momentum", .mode = "nesterov", .counts_for = "dampening"}},
      {.name = "adam",
       .settings = {rate(1e-3), kBeta1, kBeta2, kEpsilon, decay("norm_coefficient")},
       .slots = {{"V"}, {"H"}},
       .counter = "T",
       .node = {.op = "Adam"}},
      {.name = "adamw",
       .settings = {rate(1e-3), kBeta1, kBeta2, kEpsilon, decay("norm_coefficient_post")},
       .slots = {{"V"}, {"H"}},
       .counter = "T",
       .node = {.op = "Adam"}},
      {.name = "adagrad",
       .settings = {rate(1e-2),
                    kEpsilon,
                    {.name = "rate_decay", .option = "decay_factor"},
                    decay("norm_coefficient"),
                    {.name = "initial_accumulator"}},
       .slots = {{.name = "H", .starts_with = "initial_accumulator"}},
       .counter = "T",
       .node = {.op = "Adagrad", .counts_for = "rate_decay"}},
  };
}

}  // namespace onward
