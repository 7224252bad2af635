#include "python/names.h"

#include <nanobind/stl/string.h>

#include "recipe/recipe.h"

namespace onward::python {
namespace {

namespace nb = nanobind;

/// What the formula's own framework calls the count of steps.
const char* step_name(Formula formula) {
  switch (formula) {
    case Formula::keras:
      return "iterations";
    case Formula::onnx:
      return "T";
    case Formula::torch:
      break;
  }
  return "step";
}

}  // namespace

nb::dict training_names(const Model& model) {
  nb::dict names;
  const auto found = model.training.empty() ? std::nullopt : recognise(model, 0);
  if (!found) return names;
  const auto add = [&](const std::string& documented, const Value* value) {
    if (value) names[documented.c_str()] = value->name();
  };
  const auto inputs = model.training[0].algorithm->inputs();
  add("label", found->label || inputs.size() != 1 ? found->label : inputs[0]);
  add("loss", found->loss);
  add("learning_rate", found->learning_rate);
  add(step_name(found->recipe.optimizer.formula), found->step);
  for (const TrainedTensor& trained : found->trained) {
    for (const Slot& slot : trained.slots) {
      add(trained.parameter->name() + "." + slot.name, slot.value);
    }
  }
  return names;
}

}  // namespace onward::python
