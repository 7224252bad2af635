#pragma once

#include "recipe/recipe.h"

namespace onward {

/// Recognises a training info by the standard's own nodes: one Gradient, and one Adam, Adagrad or
/// Momentum that updates what it is taken by, with every result bound.
std::optional<Recognised> by_standard_nodes(const Model& model, const TrainingInfo& info);

}  // namespace onward
