// Col2Im: the columns of blocks that were slid over an image, added up where they came from.

#include "ops/families.h"
#include "ops/sampling.h"

namespace onward {
namespace {

/// A number for each dimension, or one for all where the attribute is left out.
Expr numbers_or(const ExpandContext& c, std::string_view name, int64_t fallback) {
  const auto* given = c.node().get<std::vector<int64_t>>(name);
  return c.builder().integers(given ? *given : std::vector<int64_t>{fallback});
}

// x [n, c k, l], of k elements of a block and l places of it.
std::vector<Expr> col2im_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), image = c.input(1), block = c.input(2), one = b.integers({1});
  const Expr dilations = numbers_or(c, "dilations", 1), strides = numbers_or(c, "strides", 1);
  Expr before = b.integers({0}), both = before;
  if (const auto* pads = c.node().get<std::vector<int64_t>>("pads")) {
    const auto half = pads->begin() + static_cast<int64_t>(pads->size() / 2);
    before = b.integers({pads->begin(), half});
    both = before + b.integers({half, pads->end()});
  }
  const Expr count = (image + both - dilations * (block - one) - one) / strides + one;
  const Expr elements = unraveled(numbers_below(product_of_sizes(block)), block) * dilations;
  const Expr places = unraveled(numbers_below(product_of_sizes(count)), count) * strides - before;
  const Expr at = unsqueeze(elements, one) + places;  // [k, l, d]

  const auto inside = [](Expr is) { return cast(is, DType::i64); };
  const Expr last = b.integers({-1}), zero = b.integers({0});
  const Expr fits = inside(logical_not(less(at, zero))) * inside(less(at, image));
  const Expr all_fit =
      b.add("ReduceMin", values({fits, last}), DType::i64, {{"keepdims", int64_t{0}}});
  const Expr index = sum(at * steps_of(image), last, KeepDims::no);
  const Expr size = product_of_sizes(image);

  // Each channel of each image has a row of its own. What is beyond the image goes nowhere.
  const Expr n = dim_of(x, 0), channels = dim_of(x, 1) / product_of_sizes(block);
  const Expr rows = numbers_below(n * channels) * size;
  const Expr to = unsqueeze(rows, b.integers({1, 2})) + index;
  const Expr nowhere = b.scalar(-1, DType::i64);
  const Expr target = where(equal(all_fit, b.scalar(1, DType::i64)), to, nowhere);
  const Expr columns = reshape(x, shape_of(target));
  return {
      reshape(scatter_add(columns, target, n * channels * size), concat({n, channels, image}, 0))};
}

const OpDef kCol2ImOps[] = {
    {.name = "Col2Im", .expansion = col2im_expansion, .inputs = {In::data, In::shape, In::shape}},
};

}  // namespace

std::span<const OpDef> col2im_ops() { return kCol2ImOps; }

}  // namespace onward
