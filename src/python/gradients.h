#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/program.h"

namespace onward::python {

/// A training step that stops at the gradients: nothing is bound.
class GradientProgram {
 public:
  GradientProgram(const Model& model, size_t info);

  /// Each gradient by the name of what it is taken with respect to; where several losses are
  /// differentiated by the same tensor, by the name that the file gives the gradient.
  TensorMap run(const TensorMap& inputs, State& state);

 private:
  std::vector<std::string> names_;  // of the gradients, in the order of the program's outputs
  std::vector<std::string> outputs_;
  std::optional<Program> program_;
};

}  // namespace onward::python
