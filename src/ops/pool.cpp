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

/// The same where sizes are not known: a convolution of ones with ones counts. y is what has a
/// result for each window.
Expr computed_window_places(const ExpandContext& c, const WindowValues& windows, Expr y) {
  const DType dtype = y.dtype();
  Builder& b = c.builder();
  const Expr one = b.scalar(1, dtype), image = b.integers({1, 1});
  const bool with_padding = c.node().int_or("count_include_pad", 0) != 0;
  const Expr places =
      padded(windows, expand(one, concat({image, windows.x().value}, 0)), with_padding ? 1 : 0);
  const Expr taps = expand(one, concat({image, windows.kernel().value}, 0));
  // An image without places is padded to less than a window, of which none is left below.
  const bool covers = c.node().string_or("auto_pad", "NOTSET").starts_with("SAME");
  const bool rounds_up = c.node().int_or("ceil_mode", 0) != 0;
  std::vector<int64_t> beyond(2 * windows.rank(), 0);
  for (size_t d = 0; d < windows.rank(); ++d) {
    beyond[windows.rank() + d] = covers ? 1 : rounds_up ? windows.strides()[d] - 1 : 0;
  }
  const Expr counts =
      b.add("Conv", values({places, taps}), dtype,
            {{"dilations", windows.dilations()}, {"pads", beyond}, {"strides", windows.strides()}});
  // Rounding up may give one window more than there are.
  const Expr outputs = spatial_of(y.value()->type, shape_of(y)).value;
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
                                          : computed_window_places(c, windows, dy);
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

/// The shape of images that have one place.
Expr one_place_of(Expr x) {
  Builder& b = x.builder();
  const Expr first = b.integers({0}), two = b.integers({2});
  const Expr images = slice(shape_of(x), first, two, first);
  if (const auto known = rank(x.value())) {
    const auto spatial = static_cast<size_t>(std::max<int64_t>(*known - 2, 0));
    return concat({images, b.integers(std::vector<int64_t>(spatial, 1))}, 0);
  }
  return concat({images, expand(b.integers({1}), rank_of(x) - two)}, 0);
}

/// Each image of each channel as a row.
Expr images_as_rows(Expr x) {
  return x.builder().add("Flatten", {x.value()}, x.dtype(), {{"axis", int64_t{2}}});
}

/// Of elements that tie the first one has the gradient.
std::vector<Expr> global_max_pool_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0);
  const auto top =
      b.add_many("TopK", "", values({images_as_rows(x), b.integers({1})}), {x.dtype(), DType::i64});
  return {reshape(top[0], one_place_of(x))};
}

/// |x|^p
Expr powered(Expr x, int64_t p) {
  if (p == 2) return x * x;
  const Expr size = x.builder().add("Abs", {x.value()}, x.dtype());
  return p == 1 ? size : pow(size, x.builder().scalar(static_cast<double>(p), x.dtype()));
}

/// The p-th root of a sum; where that is zero it has no slope, and 0 is given for it.
Expr root_of(Expr sum, int64_t p) {
  if (p == 1) return sum;
  if (p == 2) return sqrt_flat_at_zero(sum);
  Builder& b = sum.builder();
  const Expr zero = b.scalar(0, sum.dtype()), one = b.scalar(1, sum.dtype());
  const Expr is_zero = equal(sum, zero);
  const Expr exponent = b.scalar(1.0 / static_cast<double>(p), sum.dtype());
  return where(is_zero, zero, pow(where(is_zero, one, sum), exponent));
}

std::vector<Expr> global_lp_pool_expansion(const ExpandContext& c) {
  const int64_t p = c.node().int_or("p", 2);
  const Expr x = c.input(0);
  const Expr sums = sum(powered(images_as_rows(x), p), c.builder().integers({1}), KeepDims::yes);
  return {reshape(root_of(sums, p), one_place_of(x))};
}

/// Sums over windows are means times the number of elements.
std::vector<Expr> lp_pool_expansion(const ExpandContext& c) {
  const int64_t p = c.node().int_or("p", 2);
  const Expr x = c.input(0);
  const Spatial spatial = spatial_of(c.node().input(0)->type, shape_of(x));
  const WindowValues windows(c, spatial, spatial);  // kernel_shape is always given
  const Expr means =
      c.builder().add("AveragePool", {powered(x, p).value()}, x.dtype(), pool_attributes(c.node()));
  const Expr places = windows.are_known() ? known_window_places(c, windows, x.dtype())
                                          : computed_window_places(c, windows, means);
  return {root_of(means * places, p)};
}

const OpDef kPoolOps[] = {
    {.name = "AveragePool", .vjp = average_pool_vjp, .traits = kWindows},
    {.name = "AveragePoolGrad",
     .domain = kInternalDomain,
     .vjp = average_pool_grad_vjp,
     .expansion = average_pool_grad_expansion,
     .types = average_pool_grad_types},
    {.name = "GlobalAveragePool", .vjp = global_average_pool_vjp, .traits = kImages},
    {.name = "GlobalLpPool", .expansion = in_float32<global_lp_pool_expansion>, .traits = kImages},
    {.name = "GlobalMaxPool", .expansion = global_max_pool_expansion, .traits = kImages},
    {.name = "LpPool", .expansion = in_float32<lp_pool_expansion>, .traits = kWindows},
    {.name = "MaxPool", .vjp = max_pool_vjp, .traits = kWindows},
};

}  // namespace

std::span<const OpDef> pool_ops() { return kPoolOps; }

}  // namespace onward
