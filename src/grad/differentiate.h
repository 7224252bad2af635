#pragma once

#include "ir/model.h"

namespace onward {

/// Replaces every Gradient node of a joined step, or of a graph alone, by the nodes that compute
/// the gradients. Gradients of gradients are allowed; for a y that is no scalar the gradient of the
/// sum of its elements is taken. Throws an Error that names every operator on the way that has no
/// gradient.
void replace_gradients(Model& step);

}  // namespace onward
