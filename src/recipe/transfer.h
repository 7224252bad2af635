#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/dependence.h"
#include "recipe/recipe.h"

namespace onward {

/// A model's last layers as the recipe wants them, before anything is decided about its training.
struct Transfer {
  Recipe recipe;  // names the output as it is called now
  /// The tensors of the classifier or of the head in its place, where the recipe speaks of it.
  ValueSet head = {};
};

/// Gives a model, whose types are inferred, other classes or another head, opens its batch size,
/// and lets it keep the names of classes. Adds to `notes` what was decided.
Transfer transfer(Model& model, const Recipe& recipe, std::optional<Model> head,
                  std::vector<std::string>& notes);

}  // namespace onward
