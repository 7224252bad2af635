#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recipe/classifier.h"

namespace onward {

/// Another classifier in the place of the one that a model has.
struct NewHead {
  std::vector<Value*> tensors = {};     // its weights: initializers, or outputs of Constant nodes
  std::vector<std::string> notes = {};  // what was decided, one sentence each
};

struct NewClasses {
  int64_t count = 0;
  uint64_t seed = 0;
};

/// Gives the classifier of a model, whose types are inferred, another number of classes: weight and
/// bias start anew, as the framework starts them that the model comes from, and shapes follow.
/// Throws an Error that names the node where they can't.
NewHead set_classes(Model& model, const Classifier& classifier, const NewClasses& wanted);

/// Removes a value that nobody reads any more, and what was only there to compute it.
void remove_unread(Graph& graph, Value* value);

}  // namespace onward
