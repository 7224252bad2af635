// DeformConv: a convolution whose windows read between the elements, each tap at an offset of its
// own.

#include "ops/families.h"
#include "ops/sampling.h"

namespace onward {
namespace {

/// An attribute with a number for each of d dimensions, or `fallback` for all.
Expr list_or(const ExpandContext& c, const char* name, int64_t fallback, Expr d) {
  Builder& b = c.builder();
  const auto* given = c.node().get<std::vector<int64_t>>(name);
  return given ? b.integers(*given) : expand(b.integers({fallback}), d);
}

/// Where the taps of all windows lie without their offsets: [taps, windows, d].
Expr regular_taps(const ExpandContext& c, Expr kernel, Expr windows) {
  Builder& b = c.builder();
  const Expr d = shape_of(kernel), first = b.integers({0});
  const Expr taps = unraveled(numbers_below(product_of_sizes(kernel)), kernel);
  const Expr starts = unraveled(numbers_below(product_of_sizes(windows)), windows);
  const Expr before = slice(list_or(c, "pads", 0, d * b.integers({2})), first, d, first);
  return unsqueeze(taps * list_or(c, "dilations", 1, d), b.integers({1})) +
         (starts * list_or(c, "strides", 1, d) - before);
}

// x [n, c, spatial], w [oc, c / group, kernel], offset [n, offset_group * taps * d, windows] and
// mask [n, offset_group * taps, windows]: the taps that are sampled make a matrix for each group,
// as those of a convolution.
std::vector<Expr> deform_conv_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), w = c.input(1), offset = c.input(2);
  const DType dtype = wide_type(x.dtype());
  const Expr spatial = spatial_part(shape_of(x)), kernel = spatial_part(shape_of(w));
  const Expr result = spatial_part(shape_of(offset)), d = shape_of(spatial);
  const Expr taps = product_of_sizes(kernel), windows = product_of_sizes(result);
  const Expr group = b.integers({c.node().int_or("group", 1)});
  const Expr offset_group = b.integers({c.node().int_or("offset_group", 1)});
  const Expr n = dim_of(x, 0), channels = dim_of(x, 1), results = dim_of(w, 0);

  const Expr images = n * offset_group, samples = taps * windows;
  const Expr offsets =
      transpose(reshape(cast(offset, dtype), concat({images, taps, d, windows}, 0)), {0, 1, 3, 2});
  const Expr at = cast(regular_taps(c, kernel, result), dtype) + offsets;
  const Expr flat = concat({images, channels / offset_group, product_of_sizes(spatial)}, 0);
  Expr read = sampled(
      {.images = reshape(cast(x, dtype), flat), .sizes = spatial, .steps = steps_of(spatial)},
      reshape(at, concat({images, samples, d}, 0)), {});
  if (c.has_input(4)) {
    const Expr mask = reshape(cast(c.input(4), dtype), concat({images, samples}, 0));
    read = read * unsqueeze(mask, b.integers({2}));
  }

  const Expr depth = dim_of(w, 1) * taps;
  const Expr columns = reshape(transpose(read, {0, 2, 1}), concat({n, group, depth, windows}, 0));
  const Expr weights = reshape(cast(w, dtype), concat({group, results / group, depth}, 0));
  Expr y = reshape(matmul(weights, columns), concat({n, results, windows}, 0));
  if (c.has_input(3)) y = y + unsqueeze(cast(c.input(3), dtype), b.integers({1}));
  return {cast(reshape(y, concat({n, results, result}, 0)), x.dtype())};
}

const OpDef kDeformConvOps[] = {
    {.name = "DeformConv",
     .expansion = deform_conv_expansion,
     .inputs = {In::data, In::weight, In::data, In::bias, In::data}},
};

}  // namespace

std::span<const OpDef> deform_conv_ops() { return kDeformConvOps; }

}  // namespace onward
