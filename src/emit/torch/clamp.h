#pragma once

// PyTorch's clamp has no gradient on a number that limits it, ONNX's Clip has one there: the
// difference is a few nodes in one language, and none in the other.

#include <optional>

#include "emit/known.h"

namespace onward::emit::torch {

struct Clamp {
  const Value* x = nullptr;
  const Value *low = nullptr, *high = nullptr;  // numbers, or left out
};

/// What a node computes as a clamp of PyTorch's: Where(x == high, high, Where(x == low, low,
/// Clip(x, low, high))), in any order of the limits, or with one.
std::optional<Clamp> find_clamp(const Node& node, const Known& known);

}  // namespace onward::emit::torch
