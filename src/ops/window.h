#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace onward {

/// How the windows of a convolution or pooling lie over an input: all lists have one entry for each
/// spatial dimension, padding before and after resolved from auto_pad.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, before, after, output;

  /// The position in the input that `tap` of the window at `at` reads, along dimension d.
  int64_t source(size_t d, int64_t at, int64_t tap) const {
    return at * strides[d] + tap * dilations[d] - before[d];
  }
  /// How many taps of the window at `at` lie before position `limit` of the input. Those inside are
  /// the ones before its end but not before 0: a window may be far larger than its input.
  int64_t taps_before(size_t d, int64_t at, int64_t limit) const {
    const int64_t room = limit - source(d, at, 0);
    return room <= 0 ? 0 : std::min(kernel[d], (room - 1) / dilations[d] + 1);
  }

  /// Throws Bug where the windows do not give a result of these dimensions, for which memory is
  /// laid out.
  void require_result(std::span<const int64_t> dims) const;
};

/// An attribute with an entry for each spatial dimension, or `count` times `fallback`; throws Error
/// where it has more or fewer.
std::vector<int64_t> list_or(const Node& node, std::string_view name, size_t count,
                             int64_t fallback);

/// Whether the padding that a node gives is as large as a whole window of this kernel.
bool pads_whole_windows(const Node& node, std::span<const int64_t> kernel);

/// Reads the attributes of a node for an input of these spatial dimensions; throws Error where they
/// do not fit. `kernel` is used where the node has no kernel_shape.
Window read_window(const Node& node, std::span<const int64_t> spatial,
                   const std::vector<int64_t>& kernel);

}  // namespace onward
