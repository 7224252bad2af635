#include "ops/sampling.h"

namespace onward {
namespace {

Expr rounded(const char* op, Expr x) { return x.builder().add(op, {x.value()}, x.dtype()); }

/// The outermost positions of a dimension: centers or edges of its outermost elements.
struct Bounds {
  Expr last, low, high;

  Bounds(Expr sizes, DType dtype, bool align_corners)
      : last(cast(sizes, dtype) - 1),
        low(sizes.builder().scalar(align_corners ? 0 : -0.5, dtype)),
        high(align_corners ? last : last + 0.5) {}
};

/// There and back between the bounds, as often as it takes. Of one element whose center is both
/// bounds there is only that.
Expr reflected(Expr at, const Bounds& bounds) {
  Builder& b = at.builder();
  const Expr width = bounds.high - bounds.low, one = b.scalar(1, at.dtype());
  const Expr safe = where(less(width, one), one, width);
  const Expr way = at - bounds.low, twice = safe * 2;
  const Expr turn = way - rounded("Floor", way / twice) * twice;
  const Expr back = twice - turn;
  const Expr inside = bounds.low + where(less(turn, back), turn, back);
  return where(less(width, one), zeros_like(inside), inside);
}

/// Positions beyond the bounds are moved to within.
Expr moved_inside(Expr at, const Bounds& bounds, Beyond beyond) {
  if (beyond == Beyond::zeros) return at;
  const Expr inside = beyond == Beyond::border ? clipped(at, bounds.last) : reflected(at, bounds);
  const Expr is_beyond = at.builder().add(
      "Or", values({less(at, bounds.low), greater(at, bounds.high)}), DType::boolean);
  return where(is_beyond, inside, at);
}

/// The weight of a tap that is `tap` elements behind the one below a position, `part` above it.
Expr weight_of(Expr tap, Expr part, Interpolation interpolation) {
  Builder& b = part.builder();
  const Expr zero = b.scalar(0, part.dtype()), is_behind = greater(tap, zero);
  if (interpolation == Interpolation::linear) return where(is_behind, part, 1 - part);
  // Keys's cubic: one polynomial for the two elements beside the position, one for those beyond.
  constexpr double a = -0.75;
  const Expr distance = where(is_behind, tap - part, part - tap);
  const Expr beside = ((a + 2) * distance - (a + 3)) * distance * distance + 1;
  const Expr far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
  const Expr two = b.scalar(2, part.dtype()), doubled = tap * 2 - 1;  // -3, -1, 1, 3
  return where(less(doubled * sign(doubled), two), beside, far);
}

int64_t taps_of(Interpolation interpolation) {
  if (interpolation == Interpolation::nearest) return 1;
  return interpolation == Interpolation::linear ? 2 : 4;
}

/// All combinations of one dimension's taps: [taps ^ d, d].
Expr combined_taps(Expr sizes, const Sampling& how, DType dtype) {
  Builder& b = sizes.builder();
  const int64_t taps = taps_of(how.interpolation);
  const Expr each = expand(b.integers({taps}), shape_of(sizes));
  const Expr all = cast(unraveled(numbers_below(product_of_sizes(each)), each), dtype);
  return how.interpolation == Interpolation::cubic ? all - 1 : all;
}

}  // namespace

Expr spatial_part(Expr shape) {
  Builder& b = shape.builder();
  return slice(shape, b.integers({2}), shape_of(shape), b.integers({0}));
}

Expr clipped(Expr at, Expr last) {
  const Expr zero = at.builder().scalar(0, at.dtype());
  const Expr from_zero = where(greater(at, zero), at, zero);
  return where(less(from_zero, last), from_zero, last);
}

Expr product_of_sizes(Expr sizes) {
  return sizes.builder().add("ReduceProd", {sizes.value()}, DType::i64);
}

Expr reversed(Expr vector) {
  Builder& b = vector.builder();
  const Expr count = shape_of(vector);
  return gather(vector, count - b.integers({1}) - numbers_below(count), 0);
}

Expr steps_of(Expr sizes) {
  Builder& b = sizes.builder();
  const Expr dims = numbers_below(shape_of(sizes)), one = b.integers({1});
  const Expr behind = less(unsqueeze(dims, one), dims);  // [this, another]
  return b.add("ReduceProd", values({where(behind, sizes, one), one}), DType::i64,
               {{"keepdims", int64_t{0}}});
}

Expr unraveled(Expr flat, Expr sizes) {
  Builder& b = flat.builder();
  const Expr whole = unsqueeze(flat, b.integers({-1})) / steps_of(sizes);
  return b.add("Mod", values({whole, sizes}), DType::i64);
}

Expr weighted_taps(const SampledImages& from, Expr positions, const Sampling& how,
                   const Expr* image) {
  Builder& b = positions.builder();
  const DType dtype = positions.dtype();
  const Bounds bounds(from.sizes, dtype, how.align_corners);
  const bool nearest = how.interpolation == Interpolation::nearest;
  // Elements that are nearest to a position are found before those beyond are moved.
  Expr at = nearest ? rounded("Round", positions) : positions;
  // A cubic at the border reads each of its taps there, as in PyTorch and ONNX Runtime.
  const bool keeps_place =
      how.interpolation == Interpolation::cubic && how.beyond == Beyond::border;
  if (!keeps_place) at = moved_inside(at, bounds, how.beyond);
  at = unsqueeze(at, b.integers({2}));
  const Expr below = nearest ? at : rounded("Floor", at);
  const Expr taps = combined_taps(from.sizes, how, dtype);
  const Expr tapped = below + taps;  // [b, p, taps, d]
  const Expr found = how.beyond == Beyond::reflection ? reflected(tapped, bounds) : tapped;
  const Expr places = cast(clipped(found, bounds.last), DType::i64) * from.steps;

  const Expr shape = shape_of(from.images), last = b.integers({-1});
  const auto size = [&](int64_t dim) { return gather(shape, b.integers({dim}), 0); };
  const Expr rows =
      reshape(transpose(from.images, {0, 2, 1}), concat({size(0) * size(2), size(1)}, 0));
  const Expr first = (image ? *image : numbers_below(size(0))) * size(2);
  const Expr row = sum(places, last, KeepDims::no) + unsqueeze(first, b.integers({1, 2}));
  Expr elements = gather(rows, row, 0);  // [b, p, taps, c]
  if (how.beyond == Beyond::zeros) {
    const Expr inside = cast(equal(tapped, clipped(tapped, bounds.last)), DType::i64);
    const Expr all_inside =
        b.add("ReduceMin", values({inside, last}), DType::i64, {{"keepdims", int64_t{1}}});
    const Expr zero = cast(b.scalar(0, DType::i64), elements.dtype());
    elements = where(cast(all_inside, DType::boolean), elements, zero);
  }
  if (nearest) return elements;
  const Expr factors = weight_of(taps, at - below, how.interpolation);
  const Expr weights =
      b.add("ReduceProd", values({factors, last}), dtype, {{"keepdims", int64_t{1}}});
  return elements * cast(weights, elements.dtype());
}

Expr sampled(const SampledImages& from, Expr positions, const Sampling& how, const Expr* image) {
  const Expr taps = weighted_taps(from, positions, how, image);
  const Expr axis = positions.builder().integers({2});
  return how.interpolation == Interpolation::nearest ? squeeze(taps, axis)
                                                     : sum(taps, axis, KeepDims::no);
}

}  // namespace onward
