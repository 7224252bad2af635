#pragma once

#include <functional>

#include "recipe/algorithm.h"

namespace onward {

/// What the loss of a recipe reads, decided before the algorithm is built.
struct LossInput {
  Value* prediction = nullptr;  // in the inference graph; null for a custom loss
  std::string note;             // where it is not the output itself, why
};

/// The model's output that the loss is to read or, where the model ends in the very function that
/// the loss works before (Softmax, LogSoftmax, Sigmoid), that function's input, if the recipe
/// wants logits. Throws Error where the names or types do not fit.
LossInput find_loss_input(const Model& model, const Recipe& recipe);

/// The model's output of that name, or its only one where the name is empty; else an Error lists
/// what there is.
Value* find_output(const Model& model, const std::string& name);

/// A loss that was written into an algorithm.
struct WrittenLoss {
  Value* loss;
  Value* label = nullptr;  // null for a custom loss
};

/// Adds the label as an input, and the loss's nodes. `prediction` is the value to read: that of the
/// inference graph, or its twin in training mode.
WrittenLoss write_loss(Algorithm& algorithm, const Recipe& recipe, Value* prediction);

/// How a custom loss finds the values of the model's outputs: by name, null where there is none.
using FindOutput = std::function<Value*(const std::string& name)>;

/// Copies a custom loss's graph, which is in the algorithm's opset.
WrittenLoss write_custom_loss(Algorithm& algorithm, const Graph& loss, const FindOutput& find);

/// Throws an Error where a custom loss's graph can't be one for this model: no inputs of the
/// model's names, or not one output.
void check_custom_loss(const Model& model, const Graph& loss);

}  // namespace onward
