#pragma once

#include <nanobind/nanobind.h>

#include "ir/model.h"

namespace onward::python {

/// The documented names of what a recipe adds to a model ("label", "step", "fc.weight.exp_avg"),
/// each with the name that it has: another one where the model had that name already. Empty where
/// the model's first training info follows no recipe.
nanobind::dict training_names(const Model& model);

}  // namespace onward::python
