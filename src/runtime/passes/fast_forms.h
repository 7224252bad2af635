#pragma once

#include <string>

#include "ir/graph.h"

namespace onward {

// Why the runtime's kernels do not take a node; empty where they do. Passes that turn a node into a
// form that only these kernels know must ask first.

/// BatchNormalization and BatchNormGrad.
std::string refuses_batch_norm(const Node& node);
/// The losses over classes, and their backward passes.
std::string refuses_class_loss(const Node& node);

}  // namespace onward
