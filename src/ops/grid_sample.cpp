// AffineGrid and GridSample: where the elements of an image lie in another one, and what that one
// has there. Positions go from -1 to 1, the last dimension first.

#include "ops/families.h"
#include "ops/sampling.h"

namespace onward {
namespace {

/// What positions are computed in: at least float32.
DType position_type(DType a, DType b) {
  return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
}

// theta [n, d, d + 1] times all positions of an image, with a 1 behind them.
std::vector<Expr> affine_grid_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr theta = c.input(0), last = b.integers({-1});
  const DType dtype = position_type(theta.dtype(), theta.dtype());
  const Expr spatial = spatial_part(c.input(1));
  const Expr at = cast(unraveled(numbers_below(product_of_sizes(spatial)), spatial), dtype);
  const Expr sizes = cast(spatial, dtype);
  const bool to_centers = c.node().int_or("align_corners", 0) != 0;
  const Expr positions = to_centers ? at * 2 / (sizes - 1) - 1 : (at * 2 + 1) / sizes - 1;
  const Expr in_order = gather(positions, reversed(numbers_below(shape_of(spatial))), 1);
  const Expr ones = ones_like(slice(in_order, b.integers({0}), b.integers({1}), last));
  const Expr grid = matmul(concat({in_order, ones}, 1), transpose(cast(theta, dtype), {0, 2, 1}));
  const Expr n = gather(c.input(1), b.integers({0}), 0);
  // Between the corners of one element there is no step: no shape has a size of -2.
  const Expr fewest = b.integers({to_centers ? 2 : 1});
  const Expr shown = where(less(spatial, fewest), b.integers({-2}), spatial);
  return {cast(reshape(grid, concat({n, shown, shape_of(spatial)}, 0)), theta.dtype())};
}

Sampling sampling_of(const Node& node) {
  const std::string mode = node.string_or("mode", "linear");
  const std::string beyond = node.string_or("padding_mode", "zeros");
  return {.interpolation = mode == "nearest"  ? Interpolation::nearest
                           : mode == "linear" ? Interpolation::linear
                                              : Interpolation::cubic,
          .beyond = beyond == "zeros"    ? Beyond::zeros
                    : beyond == "border" ? Beyond::border
                                         : Beyond::reflection,
          .align_corners = node.int_or("align_corners", 0) != 0};
}

// x [n, c, spatial], grid [n, spatial of y, d]
std::vector<Expr> grid_sample_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), grid = c.input(1), first = b.integers({0}), one = b.integers({1});
  const Sampling how = sampling_of(c.node());
  const DType dtype = position_type(is_float(x.dtype()) ? x.dtype() : grid.dtype(), grid.dtype());
  const Expr shape = shape_of(x), of_grid = shape_of(grid);
  const Expr spatial = spatial_part(shape), sizes = reversed(spatial);
  const Expr result = slice(of_grid, one, b.integers({-1}), first);
  const Expr n = dim_of(x, 0), channels = dim_of(x, 1);

  const Expr normal =
      cast(reshape(grid, concat({n, product_of_sizes(result), shape_of(sizes)}, 0)), dtype);
  const Expr numbers = cast(sizes, dtype);
  const Expr positions =
      how.align_corners ? (normal + 1) / 2 * (numbers - 1) : ((normal + 1) * numbers - 1) / 2;
  const bool nearest = how.interpolation == Interpolation::nearest;
  const Expr images = reshape(x, concat({n, channels, product_of_sizes(spatial)}, 0));
  const Expr y = sampled({.images = nearest ? images : cast(images, dtype),
                          .sizes = sizes,
                          .steps = reversed(steps_of(spatial))},
                         positions, how);
  return {cast(reshape(transpose(y, {0, 2, 1}), concat({n, channels, result}, 0)), x.dtype())};
}

const OpDef kGridSampleOps[] = {
    {.name = "AffineGrid", .expansion = affine_grid_expansion, .inputs = {In::data, In::shape}},
    {.name = "GridSample", .expansion = grid_sample_expansion},
};

}  // namespace

std::span<const OpDef> grid_sample_ops() { return kGridSampleOps; }

}  // namespace onward
