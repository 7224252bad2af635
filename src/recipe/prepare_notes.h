#pragma once

#include <span>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace onward {

/// What is worth knowing of a model before it is trained, one sentence each: normalizations that
/// its exporter has folded into convolutions, where names tell so.
std::vector<std::string> model_notes(const Model& model);

/// Tensors that nobody froze, of more than a hundredth of all weights, that are not trained.
std::vector<std::string> untrained_notes(std::span<const Decision> decisions);

/// Why a weight is none that training should change: its elements 0, 1, 2 ... number the bins that
/// a detector's distances are expected over. Empty for all others.
std::string fixed_meaning(const Value& value);

}  // namespace onward
