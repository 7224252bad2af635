#pragma once

// A step, or an inference graph, by a plan and by the reference kernels, for tests that compare the
// two.

#include <string>

#include "ir/model.h"
#include "runtime/state.h"

namespace onward {

/// What a graph gives: its outputs by name, or the reason why it was refused.
struct Outcome {
  TensorMap outputs;
  std::string refusal;
};

/// The training step of a model, its gradients written out.
Model step_of(const Model& model);

/// By a plan whose kernels are chosen for the shapes at hand.
Outcome planned(Model step, const TensorMap& inputs);

/// The same plan, but every tensor in memory of its own: first between guards that must stay as
/// they are, then without a byte to spare, so that tools that watch the heap see each access beyond
/// it.
Outcome planned_apart(Model step, const TensorMap& inputs);

/// Node by node on the reference kernels.
Outcome interpreted(const Model& step, const TensorMap& inputs);

/// The floats rounded to f32, in the wider or the narrower type: the same numbers in both
/// precisions.
TensorMap rounded(TensorMap tensors, DType to);

/// Compares every element by the size of the largest one of `expected`; NaN is the same as NaN.
void expect_close(const Tensor& given, const Tensor& expected, double tolerance,
                  const std::string& what);

}  // namespace onward
