#pragma once

// Resize, one dimension at a time: the result along a dimension is a weighted sum of a few elements
// of the input along it, whatever the other dimensions are.

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace onward {

/// How one dimension is resized: output position i is the sum over k < taps of
/// weights[i * taps + k] times the element at indices[i * taps + k].
struct ResizedAxis {
  size_t axis = 0;
  int64_t input = 0, output = 0, taps = 1;
  std::vector<int64_t> indices;
  std::vector<double> weights;
  /// Output positions that lie outside of the input and hold `extrapolation_value` instead; empty
  /// where none can.
  std::vector<uint8_t> outside;

  bool is_outside(int64_t at) const {
    return !outside.empty() && outside[static_cast<size_t>(at)] != 0;
  }
};

/// What Resize reads beside its data; null where it is left out.
struct ResizeOperands {
  const Tensor* roi = nullptr;
  const Tensor* scales = nullptr;
  const Tensor* sizes = nullptr;
};

/// The result's dimensions for an input of these; throws Error where the operands do not fit.
std::vector<int64_t> resized_dims(const Node& node, std::span<const int64_t> dims,
                                  const ResizeOperands& operands);

/// All dimensions that are resized; those that stay as they are have none. The node is a Resize, or
/// a ResizeGrad, which has the same attributes.
std::vector<ResizedAxis> resized_axes(const Node& node, std::span<const int64_t> dims,
                                      const ResizeOperands& operands);

}  // namespace onward
