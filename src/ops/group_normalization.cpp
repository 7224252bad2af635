// Normalizations of images (N x C x D1 x D2 ...) by groups of channels, or by neighbouring ones.

#include <limits>

#include "ops/families.h"

namespace onward {
namespace {

/// A number for each channel, in a shape that broadcasts against x.
Expr for_channels(Expr x, Expr per_channel) {
  const Expr ones = expand(x.builder().integers({1}), rank_of(x) - 2);
  return reshape(per_channel, concat({shape_of(per_channel), ones}, 0));
}

Expr whole(Expr value, int64_t first, int64_t last) {
  Builder& b = value.builder();
  return slice(value, b.integers({first}), b.integers({last}), b.integers({0}));
}

/// The product of the sizes from dimension `first` on, a vector of one.
Expr size_from(Expr x, int64_t first) {
  const Expr sizes = whole(shape_of(x), first, std::numeric_limits<int64_t>::max());
  return x.builder().add("ReduceProd", {sizes.value()}, DType::i64);
}

/// Mean 0 and variance 1 for each instance and group of `size` elements: the rows of a layer
/// normalization. Small types are computed with in float32 there.
Expr normalized(const ExpandContext& c, Expr groups, Expr size) {
  Builder& b = c.builder();
  const Expr x = c.input(0), rows = reshape(x, concat({dim_of(x, 0), groups, size}, 0));
  const Expr ones = expand(b.scalar(1, x.dtype()), size);
  const Expr y = b.add("LayerNormalization", values({rows, ones}), x.dtype(),
                       {{"epsilon", c.node().float_or("epsilon", 1e-5F)}});
  return reshape(y, shape_of(x));
}

Expr scaled(const ExpandContext& c, Expr xhat) {
  const Expr x = c.input(0);
  return xhat * for_channels(x, c.input(1)) + for_channels(x, c.input(2));
}

std::vector<Expr> group_norm_expansion(const ExpandContext& c) {
  const Expr groups = c.builder().integers({c.node().int_or("num_groups", 1)});
  return {scaled(c, normalized(c, groups, size_from(c.input(0), 1) / groups))};
}

std::vector<Expr> instance_norm_expansion(const ExpandContext& c) {
  const Expr x = c.input(0);
  return {scaled(c, normalized(c, dim_of(x, 1), size_from(x, 2)))};
}

// y = x / (bias + alpha mean(x^2))^beta, with the mean over `size` neighbouring channels, of which
// those that are not there are zero: a pool of images that have the channels for their height.
std::vector<Expr> lrn_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), one = b.integers({1});
  const auto attribute = [&](std::string_view name, float fallback) {
    return static_cast<double>(c.node().float_or(name, fallback));
  };
  const int64_t size = c.node().int_or("size", 1), before = (size - 1) / 2;
  const Expr columns = concat({dim_of(x, 0), one, dim_of(x, 1), size_from(x, 2)}, 0);
  const Expr mean = b.add("AveragePool", {reshape(x * x, columns).value()}, x.dtype(),
                          {{"kernel_shape", std::vector<int64_t>{size, 1}},
                           {"pads", std::vector<int64_t>{before, 0, size - 1 - before, 0}},
                           {"count_include_pad", int64_t{1}}});
  const Expr sums = reshape(mean, shape_of(x)) * attribute("alpha", 1e-4F) + attribute("bias", 1);
  return {x / pow(sums, b.scalar(attribute("beta", 0.75F), x.dtype()))};
}

constexpr InputRoles kScaleAndBias = {In::data, In::scale, In::bias};

const OpDef kGroupNormalizationOps[] = {
    {.name = "GroupNormalization",
     .expansion = group_norm_expansion,
     .traits = kImages,
     .inputs = kScaleAndBias},
    {.name = "InstanceNormalization",
     .expansion = in_float32<instance_norm_expansion>,
     .traits = kImages,
     .inputs = kScaleAndBias},
    {.name = "LRN", .expansion = in_float32<lrn_expansion>, .traits = kImages},
};

}  // namespace

std::span<const OpDef> group_normalization_ops() { return kGroupNormalizationOps; }

}  // namespace onward
