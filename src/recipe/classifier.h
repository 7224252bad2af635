#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

/// A constant with as many elements, rows or filters as there are classes, where a node reads it.
struct ClassTensor {
  Node* reader = nullptr;
  size_t input = 0;
  int64_t axis = 0;  // the dimension of what the node reads that has the classes

  Value* value() const { return reader->input(input); }
};

/// A value on the way from a classifier to an output, and its dimension that has the classes.
struct ClassPlace {
  Value* value = nullptr;
  int64_t axis = 0;
};

/// The layer that makes the class scores of an output.
struct Classifier {
  Node* layer = nullptr;      // Gemm, MatMul or Conv
  Value* features = nullptr;  // what it takes
  ClassTensor weight;
  std::optional<ClassTensor> bias = {};  // the layer's own, or added behind it
  std::vector<ClassPlace> scores = {};   // from the layer's result to the output
  int64_t classes = 0;
};

/// Follows the scores of an output back, through activations, pooling and all that moves elements,
/// to the layer whose weights have the classes in a dimension. Types are inferred, `class_axis` is
/// the output's dimension that has the classes, from the front. Throws an Error that names the node
/// behind which that is not possible, such as where a detector joins its heads.
Classifier find_classifier(Value* output, int64_t class_axis);

/// Whether a value follows from constants and initializers alone.
bool is_fixed(const Value* value);

/// The tensor behind nodes that only move elements, where there is one: an initializer or the
/// output of a Constant node; else null.
Value* moved_tensor(Value* value);

}  // namespace onward
