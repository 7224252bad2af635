#pragma once

#include "ir/model.h"
#include "ir/problems.h"

namespace onward {

/// Completes the types of all values of a model, node by node through the standard's own inference
/// rules. What does not fit (a rule that refuses, a result that contradicts the declared type) is
/// added to `problems`, and the walk goes on with what is known. Training infos included: an
/// algorithm sees the values of the inference graph.
void infer_types(Model& model, Problems& problems);

}  // namespace onward
