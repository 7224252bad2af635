#pragma once

#include <span>

#include "ir/graph.h"

namespace onward {

/// The shapes of what operators of ai.onnx.ml give, where the standard's own rules tell the element
/// type alone.
void add_ml_shapes(const Node& node, std::span<Type> outputs);

}  // namespace onward
