#pragma once

#include <span>

#include "ir/dependence.h"
#include "recipe/recipe.h"

namespace onward {

/// Whether a name fits a pattern, in which * stands for any characters and ? for one.
bool matches(std::string_view pattern, std::string_view name);

/// The tensors of an inference model that a recipe trains, with the reasons.
struct ParameterChoice {
  std::vector<Value*> trained;  // initializers of the graph, or outputs of its Constant nodes
  std::vector<Decision> decisions;
};

/// `targets` are what the loss reads: a tensor that no gradient from there reaches is not trained.
/// `head` has the tensors of the classifier, which a frozen backbone leaves to be trained. Throws
/// Error where a pattern matches nothing, or names a tensor that can't be trained, or where nothing
/// would be.
ParameterChoice choose_parameters(const Model& model, std::span<Value* const> targets,
                                  const Recipe& recipe, const ValueSet& head = {});

}  // namespace onward
