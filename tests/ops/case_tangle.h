#pragma once

// Graphs in which few values are used in many ways, in a random order of nodes that is valid: what
// passes, plans and lowering must not confuse.

#include <random>

#include "ir/model.h"
#include "runtime/state.h"

namespace onward {

/// A training model of matrices and images in float32 or float64; the same for the same seed.
Model tangled_model(uint64_t seed, DType dtype);

/// What its inputs are fed with.
TensorMap tangled_inputs(DType dtype);

/// The same step with its nodes in another order that is valid.
Model reordered(const Model& step, std::mt19937_64& random);

}  // namespace onward
