// Convolution is linear in x and in w, and so are its gradients: the three products below (Conv,
// ConvGradX, ConvGradW) are each other's gradients, to any order. ConvTranspose is ConvGradX with
// the padding said otherwise: kernels and gradients take the one, the standard has the other, so
// that each is the other's expansion.

#include <algorithm>
#include <numeric>
#include <valarray>

#include "onward/error.h"
#include "ops/families.h"
#include "ops/type_rules.h"
#include "ops/window.h"
#include "ops/window_expansion.h"

namespace onward {
namespace {

/// The attributes that say how the windows lie; all three operators share them.
std::vector<NamedAttribute> conv_attributes(const Node& node) {
  std::vector<NamedAttribute> attributes;
  for (const char* name : {"dilations", "kernel_shape", "pads", "strides"}) {
    if (const auto* list = node.get<std::vector<int64_t>>(name))
      attributes.push_back({name, *list});
  }
  attributes.push_back({"group", node.int_or("group", 1)});
  attributes.push_back({"auto_pad", node.string_or("auto_pad", "NOTSET")});
  return attributes;
}

Expr conv(const Node& like, Expr x, Expr w) {
  return x.builder().add("Conv", values({x, w}), x.dtype(), conv_attributes(like));
}

/// dx for a given dy and w; `x` gives only its shape.
Expr conv_grad_x(const Node& like, Expr dy, Expr w, Expr x_shape) {
  return dy.builder().add_internal("ConvGradX", values({dy, w, x_shape}), dy.dtype(),
                                   conv_attributes(like));
}

Expr conv_grad_w(const Node& like, Expr x, Expr dy, Expr w_shape) {
  return dy.builder().add_internal("ConvGradW", values({x, dy, w_shape}), dy.dtype(),
                                   conv_attributes(like));
}

Grads conv_vjp(const VjpContext& c) {
  const Expr x = c.input(0), w = c.input(1), dy = c.grad(0);
  Grads grads = {conv_grad_x(c.node(), dy, w, shape_of(x)),
                 conv_grad_w(c.node(), x, dy, shape_of(w))};
  if (c.has_input(2)) {
    // The bias has one element a channel, dimension 1 of dy.
    Builder& b = c.builder();
    const Expr ones = expand(b.integers({1}), rank_of(dy) - 2);
    const Expr per_channel = sum_to(dy, concat({shape_of(c.input(2)), ones}, 0));
    grads.push_back(reshape(per_channel, shape_of(c.input(2))));
  }
  return grads;
}

Grads conv_grad_x_vjp(const VjpContext& c) {
  const Expr dy = c.input(0), w = c.input(1), g = c.grad(0);
  return {conv(c.node(), g, w), conv_grad_w(c.node(), g, dy, shape_of(w))};
}

Grads conv_grad_w_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.input(1), g = c.grad(0);
  return {conv_grad_x(c.node(), dy, g, shape_of(x)), conv(c.node(), x, g)};
}

/// Inputs dy, w, the shape of x.
std::vector<Expr> conv_grad_x_expansion(const ExpandContext& c) {
  const Expr w = c.input(1);
  const WindowValues windows(c, spatial_of(c.node().output(0)->type, c.input(2)),
                             spatial_of(w.value()->type, shape_of(w)));
  return {spread_over_windows(c, windows, c.input(0), w, c.node().int_or("group", 1))};
}

/// The order of dimensions in which two have changed places.
std::vector<int64_t> swapped(size_t rank, size_t a, size_t b) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[a], order[b]);
  return order;
}

/// [N, group * C, spatial] as [C, group * N, spatial].
Expr swap_batch_and_channels(Expr x, size_t spatial_rank, int64_t group) {
  if (group == 1) return transpose(x, swapped(spatial_rank + 2, 0, 1));
  Builder& b = x.builder();
  const Expr groups = b.integers({group});
  const Expr n = dim_of(x, 0), channels = dim_of(x, 1) / groups;
  const Expr spatial = spatial_of(x.value()->type, shape_of(x)).value;
  const Expr split = reshape(x, concat({n, groups, channels, spatial}, 0));
  return reshape(transpose(split, swapped(spatial_rank + 3, 0, 2)),
                 concat({channels, groups * n, spatial}, 0));
}

/// Whether a value is known to have no elements.
bool is_empty(const Value& value) {
  return value.type.shape &&
         std::ranges::any_of(*value.type.shape, [](const Dim& dim) { return dim.value == 0; });
}

/// Inputs x, dy, the shape of w. For each pair of an input and an output channel, dw is the
/// convolution of x with dy as weights, summed over the batch: channels take the place of the
/// batch, the batch that of channels, strides that of dilations.
std::vector<Expr> conv_grad_w_expansion(const ExpandContext& c) {
  const Expr x = c.input(0), dy = c.input(1);
  // A dy without elements is no kernel of a convolution.
  if (is_empty(*dy.value())) return {expand(c.builder().scalar(0, dy.dtype()), c.input(2))};
  const int64_t group = c.node().int_or("group", 1);
  const WindowValues windows(c, spatial_of(x.value()->type, shape_of(x)),
                             spatial_of(c.node().output(0)->type, c.input(2)));
  const size_t rank = windows.rank();
  const std::vector<int64_t> swap = swapped(rank + 2, 0, 1);
  std::vector<int64_t> pads(2 * rank, 0);
  bool exact = windows.are_known();
  if (exact) {
    // The padding behind x is such that there is one result for each tap, where x is not longer.
    const Window window = read_window(c.node(), *windows.x().known, *windows.kernel().known);
    for (size_t d = 0; d < rank; ++d) {
      const int64_t behind = (window.output[d] - 1) * window.strides[d] +
                             (window.kernel[d] - 1) * window.dilations[d] + 1 -
                             (*windows.x().known)[d] - window.before[d];
      if (window.before[d] < 0) throw Error("a padding is negative");
      pads[d] = window.before[d];
      pads[rank + d] = std::max<int64_t>(behind, 0);
      if (-behind >= window.dilations[d]) exact = false;
    }
  }
  const Expr from = windows.are_known() ? x : padded(windows, x, 0);
  const Expr products = c.builder().add(
      "Conv", values({swap_batch_and_channels(from, rank, group), transpose(dy, swap)}), x.dtype(),
      {{"dilations", windows.strides()},
       {"group", group},
       {"pads", pads},
       {"strides", windows.dilations()}});
  const Expr dw = transpose(products, swap);
  if (exact) return {dw};
  // Elements of x that no window reads give more results than there are taps.
  const Expr first = c.builder().integers(std::vector<int64_t>(rank, 0));
  return {slice(dw, first, windows.kernel().value, windows.axes())};
}

/// A size for each spatial dimension.
using Sizes = std::valarray<int64_t>;

Sizes at_least_zero(const Sizes& sizes) {
  return sizes.apply([](int64_t size) { return std::max<int64_t>(size, 0); });
}
Expr at_least_zero(const Expr& sizes) { return larger(sizes, zeros_like(sizes)); }

/// Reads an attribute: numbers("strides", 0); of pads, those before or (1) behind.
struct TransposedLists {
  const Node& node;
  size_t rank;

  Sizes operator()(std::string_view name, size_t half) const {
    const int64_t usual = name == "strides" || name == "dilations" ? 1 : 0;
    const auto list = list_or(node, name, name == "pads" ? 2 * rank : rank, usual);
    return {list.data() + half * rank, rank};
  }
};

/// In numbers (Sizes), or as a graph computes them (Expr).
template <typename Numbers>
struct Transposed {
  Numbers whole;           // what all windows write
  Numbers before, behind;  // what is cut off from it; zeros are added where it is negative
};

/// Whether the padding follows from sizes, of x and of the kernel.
bool computes_padding(const Node& node) {
  return node.attribute("output_shape") || node.string_or("auto_pad", "").starts_with("SAME");
}

template <typename Numbers, typename Lists>
Transposed<Numbers> transposed(const Node& node, const Numbers& x, const Numbers& kernel,
                               const Lists& list) {
  const Numbers strides = list("strides", 0), beyond = list("output_padding", 0);
  const Numbers reach = (kernel - 1) * list("dilations", 0) + 1;
  const Numbers whole = (x - 1) * strides + reach;
  if (!computes_padding(node)) return {whole, list("pads", 0), list("pads", 1) - beyond};
  // The padding is shared out, the odd one on a side; a result beyond all windows ends in zeros.
  const bool is_shaped = node.attribute("output_shape");
  const Numbers excess = is_shaped ? Numbers(whole + beyond - list("output_shape", 0))
                                   : at_least_zero(reach - strides);
  const Numbers half = at_least_zero(excess) / 2;
  const bool odd_one_behind = node.string_or("auto_pad", "") == "SAME_UPPER";
  const Numbers before = odd_one_behind ? half : Numbers(at_least_zero(excess) - half);
  return {whole, before, excess - before - beyond};
}

/// Inputs x, w, a bias. ConvGradX is told what to cut off where that is known; else it is done
/// afterwards. It leaves less than a stride open; zeros beyond that are added afterwards as well.
std::vector<Expr> conv_transpose_expansion(const ExpandContext& c) {
  const Node& node = c.node();
  Builder& b = c.builder();
  const Expr x = c.input(0), w = c.input(1);
  const auto known_rank = known_spatial_rank(c);
  const size_t rank = known_rank.value_or(1);  // of lists that are the same for all dimensions
  const TransposedLists numbers{node, rank};
  const auto ints = [&](const Sizes& list) { return std::vector(begin(list), end(list)); };
  const auto sizes = [&](auto name, size_t half) { return b.integers(ints(numbers(name, half))); };
  const Spatial from = spatial_of(x.value()->type, shape_of(x));
  const Spatial kernel = spatial_of(w.value()->type, shape_of(w));
  auto [size, before, behind] = transposed(node, from.value, kernel.value, sizes);
  std::vector<int64_t> pads(2 * rank, 0);
  bool cuts_afterwards = true;
  if ((from.known && kernel.known) || !computes_padding(node)) {
    const std::vector<int64_t> any(rank, 1);  // where padding does not follow from it
    const auto of = [&](const Spatial& s) { return Sizes(s.known.value_or(any).data(), rank); };
    const auto known = transposed(node, of(from), of(kernel), numbers);
    const Sizes zeros = at_least_zero(1 - numbers("strides", 0) - known.behind);
    const Sizes cut_behind = known.behind + zeros;
    std::ranges::copy(known.before, pads.begin());
    std::ranges::copy(at_least_zero(cut_behind), pads.begin() + static_cast<ptrdiff_t>(rank));
    size = size - b.integers(ints(known.before + cut_behind));
    before = zeros_like(size);
    behind = b.integers(ints(-zeros));
    cuts_afterwards = zeros.max() > 0;
  }
  std::vector<NamedAttribute> attributes = {{"group", node.int_or("group", 1)}};
  for (const char* name : {"dilations", "strides"}) {
    if (known_rank) attributes.push_back({name, ints(numbers(name, 0))});
  }
  if (known_rank) attributes.push_back({"pads", pads});
  const Expr channels = dim_of(w, 1) * static_cast<double>(node.int_or("group", 1));
  Expr y = b.add_internal("ConvGradX", values({x, w, concat({dim_of(x, 0), channels, size}, 0)}),
                          x.dtype(), attributes);
  if (cuts_afterwards) {
    const Expr none = b.integers({0, 0});
    y = b.add("Pad", values({y, concat({none, -before, none, -behind}, 0)}), x.dtype());
  }
  if (!c.has_input(2)) return {y};
  const Expr ones = expand(b.integers({1}), rank_of(x) - 2);
  return {y + reshape(c.input(2), concat({b.integers({-1}), ones}, 0))};
}

/// Both have the shape that their third input gives.
std::vector<InferredOutput> conv_grad_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 2, known);
}

const OpDef kConvOps[] = {
    {.name = "Conv",
     .vjp = conv_vjp,
     .traits = kWindows,
     .inputs = {In::data, In::weight, In::bias}},
    {.name = "ConvTranspose",
     .expansion = conv_transpose_expansion,
     .traits = kImages,
     .inputs = {In::data, In::weight, In::bias}},
    {.name = "ConvGradW",
     .domain = kInternalDomain,
     .vjp = conv_grad_w_vjp,
     .expansion = conv_grad_w_expansion,
     .types = conv_grad_types},
    {.name = "ConvGradX",
     .domain = kInternalDomain,
     .vjp = conv_grad_x_vjp,
     .expansion = conv_grad_x_expansion,
     .types = conv_grad_types},
};

}  // namespace

std::span<const OpDef> conv_ops() { return kConvOps; }

}  // namespace onward
