#include <fmt/format.h>

#include "eval/families.h"
#include "ops/window.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// Everything about one convolution: x [N, C, spatial], w [M, C / group, kernel], y [N, M,
/// outputs].
struct Geometry {
  std::vector<int64_t> x_dims, w_dims, y_dims;
  Window window;
  int64_t group;
};

Geometry geometry(const Node& node, std::vector<int64_t> x_dims, std::vector<int64_t> w_dims) {
  const int64_t group = node.int_or("group", 1);
  if (x_dims.size() < 3 || w_dims.size() != x_dims.size()) {
    throw Error(fmt::format("x of shape {} and w of shape {} can't be convolved", to_string(x_dims),
                            to_string(w_dims)));
  }
  if (group < 1 || w_dims[1] * group != x_dims[1] || w_dims[0] % group != 0) {
    throw Error(fmt::format("{} groups do not fit {} channels and weights of shape {}", group,
                            x_dims[1], to_string(w_dims)));
  }
  const std::span<const int64_t> spatial = std::span<const int64_t>(x_dims).subspan(2);
  Window window = read_window(node, spatial, {w_dims.begin() + 2, w_dims.end()});
  std::vector<int64_t> y_dims = {x_dims[0], w_dims[0]};
  y_dims.insert(y_dims.end(), window.output.begin(), window.output.end());
  return {std::move(x_dims), std::move(w_dims), std::move(y_dims), std::move(window), group};
}

/// Calls visit(x index, w index, y index) for every product of the convolution.
template <typename Visit>
void for_each_product(const Geometry& g, Visit visit) {
  const auto x_strides = strides_of(g.x_dims), w_strides = strides_of(g.w_dims);
  const std::span<const int64_t> taps = std::span<const int64_t>(g.w_dims).subspan(2);
  const int64_t outputs_per_group = g.w_dims[0] / g.group;
  for_each_position(g.y_dims, [&](std::span<const int64_t> y, int64_t y_index) {
    const int64_t first_channel = y[1] / outputs_per_group * g.w_dims[1];
    for (int64_t channel = 0; channel < g.w_dims[1]; ++channel) {
      const int64_t x_base = y[0] * x_strides[0] + (first_channel + channel) * x_strides[1];
      const int64_t w_base = y[1] * w_strides[0] + channel * w_strides[1];
      for_each_position(taps, [&](std::span<const int64_t> tap, int64_t tap_index) {
        int64_t x_index = x_base;
        for (size_t d = 0; d < tap.size(); ++d) {
          const int64_t at = g.window.source(d, y[d + 2], tap[d]);
          if (at < 0 || at >= g.x_dims[d + 2]) return;
          x_index += at * x_strides[d + 2];
        }
        visit(x_index, w_base + tap_index, y_index);
      });
    }
  });
}

Tensors conv(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0), w = c.array<T>(1);
    const Geometry g = geometry(c.node(), x.dims, w.dims);
    Array<T> y(g.y_dims);
    if (c.has(2)) {
      const Array<T> bias = c.array<T>(2);
      if (bias.dims != std::vector{g.w_dims[0]}) {
        throw Error(
            fmt::format("a bias of shape {} for {} outputs", to_string(bias.dims), g.w_dims[0]));
      }
      for_each_position(y.dims,
                        [&](std::span<const int64_t> at, int64_t i) { y[i] = bias[at[1]]; });
    }
    for_each_product(
        g, [&](int64_t xi, int64_t wi, int64_t yi) { y[yi] = plus(y[yi], times(x[xi], w[wi])); });
    return {to_tensor(y, dtype)};
  });
}

/// Inputs dy, w, the shape of x.
Tensors conv_grad_x(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    const Array<T> dy = c.array<T>(0), w = c.array<T>(1);
    const Geometry g = geometry(c.node(), c.input(2).integers(), w.dims);
    Array<T> dx(g.x_dims);
    for_each_product(g, [&](int64_t xi, int64_t wi, int64_t yi) {
      dx[xi] = plus(dx[xi], times(dy[yi], w[wi]));
    });
    return {to_tensor(dx, dtype)};
  });
}

/// Inputs x, dy, the shape of w.
Tensors conv_grad_w(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0), dy = c.array<T>(1);
    const Geometry g = geometry(c.node(), x.dims, c.input(2).integers());
    Array<T> dw(g.w_dims);
    for_each_product(g, [&](int64_t xi, int64_t wi, int64_t yi) {
      dw[wi] = plus(dw[wi], times(x[xi], dy[yi]));
    });
    return {to_tensor(dw, dtype)};
  });
}

constexpr KernelDef kConvKernels[] = {
    {"Conv", conv},
    {"ConvGradW", conv_grad_w, "onward"},
    {"ConvGradX", conv_grad_x, "onward"},
};

}  // namespace

std::span<const KernelDef> conv_kernels() { return kConvKernels; }

}  // namespace onward::eval
