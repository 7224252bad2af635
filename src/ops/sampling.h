#pragma once

// Samples of images between their elements, for rules that do not know the rank: of d spatial
// dimensions, an i64 vector has the sizes.

#include "ops/builder.h"

namespace onward {

Expr product_of_sizes(Expr sizes);  // a vector of one
Expr reversed(Expr vector);
/// The steps between the elements of a row-major tensor of those sizes.
Expr steps_of(Expr sizes);
/// The position [..., d] of each flat index in a tensor of those sizes, none of which is 0.
Expr unraveled(Expr flat, Expr sizes);

enum class Interpolation : uint8_t { nearest, linear, cubic };
enum class Beyond : uint8_t { zeros, border, reflection };

/// Images [n, c, s], flattened, and where each dimension has its elements.
struct SampledImages {
  Expr images;
  Expr sizes;  // d, in the order of positions
  Expr steps;  // between elements, in the same order
};

struct Sampling {
  Interpolation interpolation = Interpolation::linear;
  Beyond beyond = Beyond::zeros;
  /// Reflected at the centers of the outermost elements, not at their edges.
  bool align_corners = false;
};

/// The sizes of all dimensions of a shape but the first two.
Expr spatial_part(Expr shape);

/// Positions within 0 and the last element; what is no number is at 0.
Expr clipped(Expr at, Expr last);

/// Samples [b, p, c] at positions [b, p, d], counted in elements. `image` [b] says which image each
/// of b takes; without it, each takes its own.
Expr sampled(const SampledImages& from, Expr positions, const Sampling& how,
             const Expr* image = nullptr);

/// What a sample is the sum of: the elements around it times their weights, [b, p, taps, c].
Expr weighted_taps(const SampledImages& from, Expr positions, const Sampling& how,
                   const Expr* image = nullptr);

}  // namespace onward
