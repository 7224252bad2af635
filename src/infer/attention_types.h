#pragma once

#include <span>

#include "ir/graph.h"

namespace onward {

/// The types of an Attention's outputs. The standard's own rule takes sizes that are not known
/// for 0.
void infer_attention(const Node& node, std::span<Type> outputs);

}  // namespace onward
