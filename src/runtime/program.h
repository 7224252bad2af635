#pragma once

#include "eval/kernel.h"
#include "runtime/state.h"

namespace onward {

/// A graph made ready to be run many times: an inference graph, an initialization, or a training
/// step whose gradients are written out (grad/differentiate.h). A step is cut at the gradients into
/// a micro part and an update part, so that micro-batches can accumulate.
class Program {
 public:
  /// `step.training[0].update_bindings`, where there is one, says what a run writes to the state.
  explicit Program(Model step);

  /// Runs all of it, then applies the bindings, all at once. Gives the graph's outputs.
  TensorMap run(const TensorMap& inputs, State& state, const eval::RandomKey& random = {});

 private:
  Model step_;
};

}  // namespace onward
