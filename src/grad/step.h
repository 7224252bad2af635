#pragma once

#include "ir/model.h"

namespace onward {

/// One training step as one graph: the inference graph and the algorithm of training info `info`,
/// joined and lifted, in a model of its own whose only training info has the update bindings and no
/// algorithm. Inputs are those of both graphs, outputs those of the algorithm first.
Model join_step(const Model& model, size_t info);

}  // namespace onward
