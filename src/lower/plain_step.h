#pragma once

#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

/// A step whose state is given as inputs, and what each of its outputs is to be called. Names of
/// values may change on the way, and values replaced: the place among the outputs counts.
struct PlainStep {
  Model model;
  std::vector<std::string> output_names;
};

/// Turns a differentiated step (grad/) into a plain model. All state of `model`, whichever info
/// changes it, becomes inputs; the step's own bindings become outputs `<name>.next`.
PlainStep state_as_inputs(const Model& step, const Model& model);

/// Gives the outputs their names, and leaves out initializers that nothing reads.
Model finished(const PlainStep& step);

/// A copy that shares only the bytes of tensors.
Model copy_of(const Model& model);

}  // namespace onward
