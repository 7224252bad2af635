// Operators that decode, rearrange, cut and unpool images; all but the first are said in plainer
// ones.

#include <numeric>

#include "ops/families.h"

namespace onward {
namespace {

/// The four dimensions of images, as vectors of one.
struct ImageDims {
  Expr n, c, h, w;

  explicit ImageDims(Expr x) : n(dim_of(x, 0)), c(dim_of(x, 1)), h(dim_of(x, 2)), w(dim_of(x, 3)) {}
};

bool is_depth_first(const Node& node) { return node.string_or("mode", "DCR") == "DCR"; }

/// [n, c, h, w] to [n, c / b^2, h b, w b]: each channel's block of b^2 elements is split off before
/// (DCR) or behind (CRD) the channels that stay.
std::vector<Expr> depth_to_space_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0);
  const Expr size = b.integers({c.node().int_or("blocksize", 1)});
  const ImageDims d(x);
  const Expr channels = d.c / (size * size);
  const bool depth_first = is_depth_first(c.node());
  const Expr blocks = depth_first ? concat({d.n, size, size, channels, d.h, d.w}, 0)
                                  : concat({d.n, channels, size, size, d.h, d.w}, 0);
  const std::vector<int64_t> order =
      depth_first ? std::vector<int64_t>{0, 3, 4, 1, 5, 2} : std::vector<int64_t>{0, 1, 4, 2, 5, 3};
  return {reshape(transpose(reshape(x, blocks), order),
                  concat({d.n, channels, d.h * size, d.w * size}, 0))};
}

std::vector<Expr> space_to_depth_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0);
  const Expr size = b.integers({c.node().int_or("blocksize", 1)});
  const ImageDims d(x);
  const Expr rows = d.h / size, columns = d.w / size;
  const std::vector<int64_t> order = is_depth_first(c.node())
                                         ? std::vector<int64_t>{0, 3, 5, 1, 2, 4}
                                         : std::vector<int64_t>{0, 1, 3, 5, 2, 4};
  const Expr blocks = concat({d.n, d.c, rows, size, columns, size}, 0);
  return {reshape(transpose(reshape(x, blocks), order),
                  concat({d.n, d.c * size * size, rows, columns}, 0))};
}

/// What is too large is cut from both sides, what is too small is padded with zeros; the odd one
/// goes behind.
std::vector<Expr> center_crop_pad_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), wanted = cast(c.input(1), DType::i64);
  const Expr zero = b.integers({0}), two = b.integers({2});
  const auto* given = c.node().get<std::vector<int64_t>>("axes");
  Expr axes = zero, sizes = shape_of(x);
  if (given) {
    axes = b.integers(*given);
    sizes = gather(sizes, axes, 0);
  } else {
    axes = numbers_below(rank_of(x));
  }
  const auto positive = [&](Expr number) {
    return b.add("Max", values({number, zero}), DType::i64);
  };
  // A size below zero is left to Pad, which refuses it.
  const Expr missing = where(less(wanted, zero), wanted, positive(wanted - sizes));
  const Expr starts = positive(sizes - wanted) / two;
  const Expr kept = slice(x, starts, starts + (wanted - missing), axes);
  const Expr before = missing / two;
  return {b.add(
      "Pad", {kept.value(), concat({before, missing - before}, 0).value(), nullptr, axes.value()},
      x.dtype())};
}

/// The shape of the images that were pooled to x, by the attributes of a MaxUnpool.
Expr pooled_shape(const Node& node, Expr x) {
  Builder& b = x.builder();
  const auto& kernel = *node.get<std::vector<int64_t>>("kernel_shape");
  const size_t rank = kernel.size();
  const auto* strides = node.get<std::vector<int64_t>>("strides");
  const auto* pads = node.get<std::vector<int64_t>>("pads");
  std::vector<int64_t> step(rank, 1), beyond(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (strides) step[d] = (*strides)[d];
    beyond[d] = kernel[d] - step[d] - (pads ? (*pads)[d] + (*pads)[rank + d] : 0);
  }
  const Expr first = b.integers({0}), all = shape_of(x);
  const Expr images = slice(all, first, b.integers({2}), first);
  const Expr spatial = slice(all, b.integers({2}), rank_of(x), first);
  return concat({images, spatial * b.integers(step) + b.integers(beyond)}, 0);
}

/// Each element goes where its index says, in a tensor of the shape that was pooled; a larger shape
/// that is given has zeros behind it.
std::vector<Expr> max_unpool_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), flat = b.integers({-1});
  const Expr pooled = pooled_shape(c.node(), x);
  const Expr empty = reshape(expand(b.scalar(0, x.dtype()), pooled), flat);
  const Expr placed = b.add(
      "ScatterElements", values({empty, reshape(c.input(1), flat), reshape(x, flat)}), x.dtype());
  const Expr y = reshape(placed, pooled);
  if (!c.has_input(2)) return {y};
  const Expr before = expand(b.scalar(0, DType::i64), shape_of(pooled));
  return {b.add("Pad", values({y, concat({before, c.input(2) - pooled}, 0)}), x.dtype())};
}

Grads max_unpool_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  Expr dy = c.grad(0);
  if (c.has_input(2)) {
    const size_t rank = c.node().get<std::vector<int64_t>>("kernel_shape")->size() + 2;
    std::vector<int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    dy = slice(dy, b.integers(std::vector<int64_t>(rank, 0)), pooled_shape(c.node(), c.input(0)),
               b.integers(axes));
  }
  return {gather(reshape(dy, b.integers({-1})), c.input(1), 0)};
}

const OpDef kImageOps[] = {
    {.name = "CenterCropPad",
     .expansion = center_crop_pad_expansion,
     .inputs = {In::data, In::shape}},
    {.name = "DepthToSpace", .expansion = depth_to_space_expansion, .traits = kMovesData},
    {.name = "ImageDecoder", .no_gradient = "its result is integers"},
    {.name = "MaxUnpool",
     .vjp = max_unpool_vjp,
     .expansion = max_unpool_expansion,
     .inputs = {In::data, In::index, In::shape}},
    {.name = "SpaceToDepth", .expansion = space_to_depth_expansion, .traits = kMovesData},
};

}  // namespace

std::span<const OpDef> image_ops() { return kImageOps; }

}  // namespace onward
