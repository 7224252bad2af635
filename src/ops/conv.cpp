// Convolution is linear in x and in w, and so are its gradients: the three products below (Conv,
// ConvGradX, ConvGradW) are each other's gradients, to any order.

#include <algorithm>
#include <numeric>

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

/// Both have the shape that their third input gives.
std::vector<InferredOutput> conv_grad_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 2, known);
}

const OpDef kConvOps[] = {
    {.name = "Conv",
     .vjp = conv_vjp,
     .traits = kWindows,
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
