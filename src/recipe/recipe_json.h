#pragma once

#include "recipe/recipe.h"

namespace onward {

/// The metadata of an algorithm's graph under which a recipe is kept.
inline constexpr std::string_view kRecipeKey = "onward.recipe";

/// A recipe as it is kept in a file, with the names of what the loss reads in the inference graph.
/// The graph of a custom loss is not part of it: the algorithm has it.
struct RecipeHint {
  Recipe recipe;
  std::vector<std::string> reads;
};

std::string to_json(const RecipeHint& hint);
/// Throws Error where the text is no hint.
RecipeHint hint_from_json(const std::string& text);

}  // namespace onward
