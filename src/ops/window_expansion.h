#pragma once

// Convolutions and poolings backwards, in the standard's operators. Where sizes are known they are
// written as attributes; else they are computed when the graph runs. Only ranks must be known.

#include <optional>
#include <vector>

#include "ops/op_def.h"

namespace onward {

/// The spatial dimensions of an image tensor: as numbers, where all are known, and as a vector that
/// the graph computes.
struct Spatial {
  std::optional<std::vector<int64_t>> known;
  Expr value;
};

/// Of a tensor of this type whose whole shape is `shape`.
Spatial spatial_of(const Type& type, Expr shape);

/// The number of spatial dimensions of an expanded node, where anything tells; else throws Error.
std::optional<size_t> known_spatial_rank(const ExpandContext& c);
size_t spatial_rank(const ExpandContext& c);

/// How the windows of a node lie over x, whatever is known of it.
class WindowValues {
 public:
  WindowValues(const ExpandContext& c, Spatial x, Spatial kernel);

  size_t rank() const { return strides_.size(); }
  const std::vector<int64_t>& strides() const { return strides_; }
  const std::vector<int64_t>& dilations() const { return dilations_; }
  const Spatial& x() const { return x_; }
  const Spatial& kernel() const { return kernel_; }

  /// True where the sizes of x and of the kernel are known.
  bool are_known() const { return x_.known && kernel_.known; }
  /// The axes of an image tensor that are spatial.
  Expr axes() const;
  /// The padding before (behind) x, a vector: constants but for auto_pad SAME with unknown sizes.
  Expr before() const { return before_; }
  Expr after() const { return after_; }

 private:
  void resolve_padding(const ExpandContext& c);

  Builder& builder_;
  Spatial x_, kernel_;
  std::vector<int64_t> strides_, dilations_;
  Expr before_, after_;
};

/// The backward of a convolution: each dy times w, added up where its window lies in x.
Expr spread_over_windows(const ExpandContext& c, const WindowValues& windows, Expr dy, Expr w,
                         int64_t group);

/// x with `pads` (before each spatial dimension, then behind) filled with a number.
Expr padded(const WindowValues& windows, Expr x, double number);

}  // namespace onward
