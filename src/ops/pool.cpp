#include "ops/families.h"
#include "ops/type_rules.h"
#include "ops/window.h"
#include "ops/window_expansion.h"

namespace onward {
namespace {

std::vector<NamedAttribute> pool_attributes(const Node& node) {
  std::vector<NamedAttribute> attributes;
  for (const char* name : {"dilations", "kernel_shape", "pads", "strides"}) {
    if (const auto* list = node.get<std::vector<int64_t>>(name))
      attributes.push_back({name, *list});
  }
  attributes.push_back({"ceil_mode", node.int_or("ceil_mode", 0)});
  attributes.push_back({"auto_pad", node.string_or("auto_pad", "NOTSET")});
  return attributes;
}

/// The largest element's index, which the operator gives as its second output, says where to go
/// back.
Grads max_pool_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.grad(0);
  if (c.attribute("storage_order", 0) == 0) {
    return {scatter_add(dy, c.demanded_output(1, DType::i64), shape_of(x))};
  }
  // Indices in column order are no use here; another run gives them in row order.
  const auto again = c.builder().add_many("MaxPool", "", {x.value()}, {x.dtype(), DType::i64},
                                          pool_attributes(c.node()));
  return {scatter_add(dy, again[1], shape_of(x))};
}

std::vector<NamedAttribute> average_window(const Node& node) {
  std::vector<NamedAttribute> attributes = pool_attributes(node);
  attributes.push_back({"count_include_pad", node.int_or("count_include_pad", 0)});
  return attributes;
}

// The mean over a window is linear: its backward spreads each dy over its window.
Grads average_pool_vjp(const VjpContext& c) {
  const Expr dy = c.grad(0);
  return {c.builder().add_internal("AveragePoolGrad", values({dy, shape_of(c.input(0))}),
                                   dy.dtype(), average_window(c.node()))};
}

Grads average_pool_grad_vjp(const VjpContext& c) {
  const Expr g = c.grad(0);
  return {c.builder().add("AveragePool", {g.value()}, g.dtype(), average_window(c.node()))};
}

/// Over how many places the mean of each window is taken, along one dimension; the places of a
/// window are the product of those along each.
std::vector<double> window_places(const Window& window, size_t d, int64_t size, bool with_padding) {
  std::vector<double> counts;
  for (int64_t at = 0; at < window.output[d]; ++at) {
    // Rounding up can push a window beyond the padding: such places are nowhere.
    const int64_t count = with_padding
                              ? window.taps_before(d, at, size + window.after[d])
                              : window.taps_before(d, at, size) - window.taps_before(d, at, 0);
    counts.push_back(static_cast<double>(count));
  }
  return counts;
}

/// The same as a tensor that broadcasts against y.
Expr known_window_places(const ExpandContext& c, const WindowValues& windows, DType dtype) {
  Builder& b = c.builder();
  const Window window = read_window(c.node(), *windows.x().known, *windows.kernel().known);
  const bool with_padding = c.node().int_or("count_include_pad", 0) != 0;
  Expr product = b.scalar(1, dtype);
  for (size_t d = 0; d < windows.rank(); ++d) {
    const auto counts = window_places(window, d, (*windows.x().known)[d], with_padding);
    std::vector<int64_t> dims(windows.rank() - d, 1);
    dims[0] = window.output[d];
    product = product * cast(b.constant(Tensor::of<double>(dims, counts)), dtype);
  }
  return product;
}

/// The same where sizes are not known: a convolution of ones with ones counts.
Expr computed_window_places(const ExpandContext& c, const WindowValues& windows, DType dtype) {
  Builder& b = c.builder();
  const Expr one = b.scalar(1, dtype), image = b.integers({1, 1});
  const bool with_padding = c.node().int_or("count_include_pad", 0) != 0;
  const Expr places =
      padded(windows, expand(one, concat({image, windows.x().value}, 0)), with_padding ? 1 : 0);
  const Expr taps = expand(one, concat({image, windows.kernel().value}, 0));
  std::vector<int64_t> beyond(2 * windows.rank(), 0);
  if (c.node().int_or("ceil_mode", 0) != 0) {
    for (size_t d = 0; d < windows.rank(); ++d) {
      beyond[windows.rank() + d] = windows.strides()[d] - 1;
    }
  }
  const Expr counts =
      b.add("Conv", values({places, taps}), dtype,
            {{"dilations", windows.dilations()}, {"pads", beyond}, {"strides", windows.strides()}});
  // Rounding up may give one window more than there are.
  const Expr outputs = spatial_of(c.node().input(0)->type, shape_of(c.input(0))).value;
  const Expr first = b.integers(std::vector<int64_t>(windows.rank(), 0));
  return slice(counts, first, outputs, windows.axes());
}

/// Inputs dy, the shape of x. Each image of each channel is spread by itself.
std::vector<Expr> average_pool_grad_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr dy = c.input(0), x_shape = c.input(1);
  const Spatial x = spatial_of(c.node().output(0)->type, x_shape);
  const WindowValues windows(c, x, x);  // kernel_shape is always given
  const Expr places = windows.are_known() ? known_window_places(c, windows, dy.dtype())
                                          : computed_window_places(c, windows, dy.dtype());
  // A window that lies in the padding alone gives nothing back, whatever it is divided by.
  const Expr some = b.add("Max", values({places, b.scalar(1, dy.dtype())}), dy.dtype());
  const Expr outputs = spatial_of(dy.value()->type, shape_of(dy)).value;
  const Expr images =
      reshape(dy / some, concat({dim_of(dy, 0) * dim_of(dy, 1), b.integers({1}), outputs}, 0));
  const Expr taps =
      expand(b.scalar(1, dy.dtype()), concat({b.integers({1, 1}), windows.kernel().value}, 0));
  return {reshape(spread_over_windows(c, windows, images, taps, 1), x_shape)};
}

std::vector<InferredOutput> average_pool_grad_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 1, known);
}

Grads global_average_pool_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.grad(0);
  const auto size = [&](Expr value) {
    return cast(c.builder().add("Size", {value.value()}, DType::i64), dy.dtype());
  };
  return {expand(dy * (size(dy) / size(x)), shape_of(x))};
}

const OpDef kPoolOps[] = {
    {.name = "AveragePool", .vjp = average_pool_vjp, .traits = kWindows},
    {.name = "AveragePoolGrad",
     .domain = kInternalDomain,
     .vjp = average_pool_grad_vjp,
     .expansion = average_pool_grad_expansion,
     .types = average_pool_grad_types},
    {.name = "GlobalAveragePool", .vjp = global_average_pool_vjp, .traits = kImages},
    {.name = "MaxPool", .vjp = max_pool_vjp, .traits = kWindows},
};

}  // namespace

std::span<const OpDef> pool_ops() { return kPoolOps; }

}  // namespace onward
