// RoiAlign and MaxRoiPool: regions of images, each pooled to a result of one size.

#include <limits>

#include "ops/families.h"
#include "ops/sampling.h"

namespace onward {
namespace {

/// The points that are pooled along one dimension. All cells have as many as the largest; those
/// that a cell has no use for are not there.
struct Points {
  Expr at;         // [regions, cells, points]
  Expr is_there;   // the same, or broadcast to it
  Expr is_inside;  // points outside of the image are zeros
};

/// Points of both dimensions.
struct Grid {
  Expr at;         // [regions, cells * points, 2]
  Expr is_there;   // [regions, cells, points, 1]
  Expr is_inside;  // the same
};

/// Counts from 0 for as many points as the largest of `counts`, and for one at least.
Expr points_of(Expr counts, DType dtype) {
  Builder& b = counts.builder();
  const Expr all =
      concat({reshape(cast(counts, DType::i64), b.integers({-1})), b.integers({1})}, 0);
  const Expr most = b.add("ReduceMax", values({all, b.integers({0})}), DType::i64);
  return cast(numbers_below(most), dtype);
}

/// The numbers of cells, [cells, 1].
Expr cells_of(Builder& b, int64_t cells, DType dtype) {
  return cast(unsqueeze(numbers_below(b.integers({cells})), b.integers({1})), dtype);
}

Grid crossed(const Points& rows, const Points& columns) {
  Builder& b = rows.at.builder();
  const auto of_rows = [&](int64_t dim) { return dim_of(rows.at, dim); };
  const auto of_columns = [&](int64_t dim) { return dim_of(columns.at, dim); };
  const Expr cells = of_rows(1) * of_columns(1), points = of_rows(2) * of_columns(2);
  const Expr all = concat({of_rows(0), of_rows(1), of_columns(1), of_rows(2), of_columns(2)}, 0);
  const auto as_row = [&](Expr x) { return unsqueeze(x, b.integers({2, 4})); };
  const auto as_column = [&](Expr x) { return unsqueeze(x, b.integers({1, 3})); };
  const auto position = [&](Expr x) { return unsqueeze(expand(x, all), b.integers({5})); };
  const auto both = [&](Expr of_row, Expr of_column) {
    return reshape(expand(logical_and(as_row(of_row), as_column(of_column)), all),
                   concat({of_rows(0), cells, points, b.integers({1})}, 0));
  };
  const Expr at = concat({position(as_row(rows.at)), position(as_column(columns.at))}, 5);
  return {.at = reshape(at, concat({of_rows(0), cells * points, b.integers({2})}, 0)),
          .is_there = both(rows.is_there, columns.is_there),
          .is_inside = both(rows.is_inside, columns.is_inside)};
}

/// The largest of candidates [regions, cells, candidates, c] that are there, the first of several;
/// zero where none is.
Expr largest(Expr candidates, Expr is_there) {
  Builder& b = candidates.builder();
  const DType dtype = candidates.dtype();
  const Expr lowest = b.scalar(-std::numeric_limits<double>::infinity(), dtype);
  const Expr place = b.add("ArgMax", {where(is_there, candidates, lowest).value()}, DType::i64,
                           {{"axis", int64_t{2}}});
  const Expr found = where(is_there, candidates, b.scalar(0, dtype));
  return squeeze(b.add("GatherElements", values({found, place}), dtype, {{"axis", int64_t{2}}}),
                 b.integers({2}));
}

/// Images [n, c, h, w] and the regions of them that are pooled.
class Regions {
 public:
  Regions(Expr x, DType dtype, Expr image)
      : x_(x),
        dtype_(dtype),
        image_(checked_up_to(image, dim_of(x, 0) - x.builder().integers({1}))) {}

  DType dtype() const { return dtype_; }
  /// The height (0) or width (1) of the images.
  Expr size(int64_t dim) const { return cast(dim_of(x_, 2 + dim), dtype_); }

  SampledImages images() const {
    const Expr sizes = spatial_part(shape_of(x_));
    const Expr flat = concat({dim_of(x_, 0), dim_of(x_, 1), product_of_sizes(sizes)}, 0);
    return {.images = cast(reshape(x_, flat), dtype_), .sizes = sizes, .steps = steps_of(sizes)};
  }
  const Expr* image() const { return &image_; }

  /// Samples [regions, cells * points, c] as [regions, cells, points, c].
  Expr by_cells(Expr samples, const Grid& grid) const {
    const Expr counts = slice(shape_of(grid.is_there), zero(), x_.builder().integers({3}), zero());
    return reshape(samples, concat({counts, dim_of(x_, 1)}, 0));
  }

  /// [regions, cells, c] as [regions, c, height, width], in the type of x.
  Expr result(Expr pooled, int64_t height, int64_t width) const {
    const Expr cells = x_.builder().integers({height, width});
    const Expr shape = concat({dim_of(pooled, 0), dim_of(x_, 1), cells}, 0);
    return cast(reshape(transpose(pooled, {0, 2, 1}), shape), x_.dtype());
  }

 private:
  Expr zero() const { return x_.builder().integers({0}); }

  Expr x_;
  DType dtype_;
  Expr image_;
};

/// Of corners [regions, count] one column, [regions, 1, 1].
Expr corner(Expr corners, int64_t column) {
  Builder& b = corners.builder();
  return unsqueeze(gather(corners, b.integers({column}), 1), b.integers({2}));
}

/// `count` points evenly in each cell, or as many as it has elements.
struct AlignedDim {
  Points points;
  Expr count;  // of a region, [regions, 1, 1]
};

AlignedDim aligned(Expr start, Expr extent, int64_t cells, int64_t ratio, Expr size) {
  Builder& b = start.builder();
  const DType dtype = start.dtype();
  const Expr cell = extent / static_cast<double>(cells);
  const Expr counted = ratio > 0
                           ? expand(b.scalar(static_cast<double>(ratio), dtype), shape_of(cell))
                           : b.add("Ceil", {cell.value()}, dtype);
  const Expr count = larger(counted, b.scalar(1, dtype));
  const Expr point =
      ratio > 0 ? cast(numbers_below(b.integers({ratio})), dtype) : points_of(counted, dtype);
  const Expr at = start + cells_of(b, cells, dtype) * cell + (point + 0.5) * cell / count;
  const Expr is_outside =
      b.add("Or", values({less(at, b.scalar(-1, dtype)), greater(at, size)}), DType::boolean);
  return {.points = {.at = clipped(at, size - 1),
                     .is_there = less(point, counted),
                     .is_inside = logical_not(is_outside)},
          .count = count};
}

// Corners are x1, y1, x2, y2.
std::vector<Expr> roi_align_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Node& node = c.node();
  const Expr x = c.input(0);
  const Regions regions(x, wide_type(x.dtype()), c.input(2));
  const DType dtype = regions.dtype();
  const bool shifts =
      node.string_or("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const Expr scaled = cast(c.input(1), dtype) * node.float_or("spatial_scale", 1);
  const Expr corners = shifts ? scaled - 0.5 : scaled;
  const auto along = [&](int64_t dim, int64_t cells) {
    const Expr start = corner(corners, 1 - dim), extent = corner(corners, 3 - dim) - start;
    return aligned(start, shifts ? extent : larger(extent, b.scalar(1, dtype)), cells,
                   node.int_or("sampling_ratio", 0), regions.size(dim));
  };
  const int64_t height = node.int_or("output_height", 1), width = node.int_or("output_width", 1);
  const AlignedDim rows = along(0, height), columns = along(1, width);
  const Grid grid = crossed(rows.points, columns.points);
  const Sampling how = {.beyond = Beyond::border};
  const Expr zero = b.scalar(0, dtype);
  if (node.string_or("mode", "avg") == "avg") {
    const Expr samples =
        regions.by_cells(sampled(regions.images(), grid.at, how, regions.image()), grid);
    const Expr counted = where(logical_and(grid.is_there, grid.is_inside), samples, zero);
    const Expr all = sum(counted, b.integers({2}), KeepDims::no);
    return {regions.result(all / (rows.count * columns.count), height, width)};
  }
  // As all runtimes have it: the largest of the elements around the points, each times its weight.
  const Expr taps = weighted_taps(regions.images(), grid.at, how, regions.image());
  std::optional<Expr> candidates, are_there;
  for (int64_t tap = 0; tap < 4; ++tap) {
    const Expr one = regions.by_cells(gather(taps, b.integers({tap}), 2), grid);
    const Expr seen = where(grid.is_inside, one, zero);
    candidates = candidates ? concat({*candidates, seen}, 2) : seen;
    are_there = are_there ? concat({*are_there, grid.is_there}, 2) : grid.is_there;
  }
  return {regions.result(largest(*candidates, *are_there), height, width)};
}

/// The nearest integer; of two, the one that is farther from zero.
Expr rounded_away(Expr x) {
  return sign(x) * x.builder().add("Floor", {(abs(x) + 0.5).value()}, x.dtype());
}

/// The elements that lie in a cell, even in part.
Points covered(Expr start, Expr end, int64_t cells, Expr size) {
  Builder& b = start.builder();
  const DType dtype = start.dtype();
  const Expr one = b.scalar(1, dtype), zero = b.scalar(0, dtype);
  const Expr cell = larger(end - start + 1, one) / static_cast<double>(cells);
  const Expr number = cells_of(b, cells, dtype);
  const auto bound = [&](const char* rounding, Expr at) {
    return clipped(b.add(rounding, {(at * cell).value()}, dtype) + start, size);
  };
  const Expr low = bound("Floor", number), high = bound("Ceil", number + 1);
  const Expr count = larger(high - low, zero), point = points_of(count, dtype);
  return {.at = clipped(low + point, size - 1),
          .is_there = less(point, count),
          .is_inside = less(point, count)};
}

// Corners are the image, x1, y1, x2, y2. What runtimes do, since the standard does not say: corners
// are rounded to elements and belong to the region, and cells without elements are zero.
std::vector<Expr> max_roi_pool_expansion(const ExpandContext& c) {
  const Node& node = c.node();
  const Expr x = c.input(0);
  const DType dtype = wide_type(x.dtype());
  const Expr rois = cast(c.input(1), dtype);
  const Expr image = gather(rois, c.builder().scalar(0, DType::i64), 1);
  const Regions regions(x, dtype, cast(image, DType::i64));
  const Expr corners = rounded_away(rois * node.float_or("spatial_scale", 1));
  const auto& cells = *node.get<std::vector<int64_t>>("pooled_shape");
  const auto along = [&](int64_t dim) {
    return covered(corner(corners, 2 - dim), corner(corners, 4 - dim),
                   cells[static_cast<size_t>(dim)], regions.size(dim));
  };
  const Grid grid = crossed(along(0), along(1));
  const Sampling how = {.interpolation = Interpolation::nearest, .beyond = Beyond::border};
  const Expr elements =
      regions.by_cells(sampled(regions.images(), grid.at, how, regions.image()), grid);
  return {regions.result(largest(elements, grid.is_there), cells[0], cells[1])};
}

const OpDef kRegionOps[] = {
    {.name = "MaxRoiPool", .expansion = max_roi_pool_expansion},
    {.name = "RoiAlign",
     .expansion = roi_align_expansion,
     .inputs = {In::data, In::data, In::index}},
};

}  // namespace

std::span<const OpDef> region_ops() { return kRegionOps; }

}  // namespace onward
