#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace onward::emit {

/// How the windows of a convolution or pooling lie, as far as the model says it: one entry for each
/// spatial dimension.
struct WindowFacts {
  enum class Same : uint8_t { no, upper, lower };  // auto_pad, the odd pad behind or before

  std::vector<int64_t> kernel, strides, dilations;
  /// Pads before, then after, all dimensions; nothing where they depend on sizes that are only
  /// known at run time.
  std::optional<std::vector<int64_t>> pads;
  Same same = Same::no;
  bool ceil = false;

  size_t rank() const { return kernel.size(); }
  bool has_dilations() const;
  bool has_pads() const;            // or might have some
  bool pads_are_symmetric() const;  // and known
  /// The pads of one dimension; only where they are known.
  int64_t before(size_t d) const { return (*pads)[d]; }
  int64_t after(size_t d) const { return (*pads)[d + rank()]; }
};

/// Reads the attributes of a node whose first input is `x`; `kernel` where it has no kernel_shape.
WindowFacts window_facts(const Node& node, const std::vector<int64_t>& kernel);

}  // namespace onward::emit
