#include <limits>

#include "eval/families.h"
#include "ops/window.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

struct Pooling {
  std::vector<int64_t> x_dims, y_dims;
  Window window;
};

Pooling pooling(const Node& node, std::vector<int64_t> x_dims) {
  if (x_dims.size() < 3) throw Error("its input has no spatial dimensions");
  Window window = read_window(node, std::span<const int64_t>(x_dims).subspan(2), {});
  std::vector<int64_t> y_dims = {x_dims[0], x_dims[1]};
  y_dims.insert(y_dims.end(), window.output.begin(), window.output.end());
  return {std::move(x_dims), std::move(y_dims), std::move(window)};
}

/// Calls visit(x index) for each element of the window at `y`, and gives the number of the window's
/// places that lie in the input or its padding.
template <typename Visit>
int64_t for_each_in_window(const Pooling& p, std::span<const int64_t> strides,
                           std::span<const int64_t> y, Visit visit) {
  int64_t places = 1;
  std::vector<int64_t> first, inside;
  for (size_t d = 0; d + 2 < p.x_dims.size(); ++d) {
    const int64_t size = p.x_dims[d + 2];
    first.push_back(p.window.taps_before(d, y[d + 2], 0));
    inside.push_back(p.window.taps_before(d, y[d + 2], size) - first.back());
    // Rounding up can push a window beyond the padding: such places are nowhere.
    places *= p.window.taps_before(d, y[d + 2], size + p.window.after[d]);
  }
  for_each_position(inside, [&](std::span<const int64_t> tap, int64_t) {
    int64_t index = y[0] * strides[0] + y[1] * strides[1];
    for (size_t d = 0; d < tap.size(); ++d) {
      index += p.window.source(d, y[d + 2], first[d] + tap[d]) * strides[d + 2];
    }
    visit(index);
  });
  return places;
}

/// The place of an element where the first spatial dimension of each image runs fastest.
int64_t index_by_column(std::span<const int64_t> dims, int64_t index) {
  int64_t plane = 1, result = 0;
  for (const int64_t size : dims.subspan(2)) plane *= size;
  const int64_t image = index / plane;
  index %= plane;
  int64_t stride = plane;
  for (size_t d = dims.size(); d-- > 2;) {
    stride /= dims[d];
    result += index % dims[d] * stride;
    index /= dims[d];
  }
  return image * plane + result;
}

Tensors max_pool(const Context& c) {
  const DType dtype = c.input(0).dtype();
  const bool by_column = c.node().int_or("storage_order", 0) != 0;
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    const Pooling p = pooling(c.node(), x.dims);
    const auto strides = strides_of(p.x_dims);
    Array<T> y(p.y_dims);
    Array<int64_t> indices(p.y_dims);
    for_each_position(p.y_dims, [&](std::span<const int64_t> at, int64_t i) {
      int64_t best = -1;
      for_each_in_window(p, strides, at, [&](int64_t index) {
        // NaN wins, the last one of several, as in PyTorch.
        if (best < 0 || x[index] > x[best] || x[index] != x[index]) best = index;
      });
      if (best < 0) throw Error("a window lies in the padding alone");
      y[i] = x[best];
      indices[i] = by_column ? index_by_column(p.x_dims, best) : best;
    });
    return {to_tensor(y, dtype), to_tensor(indices, DType::i64)};
  });
}

/// Over how many places the mean of the window at `y` is taken.
template <typename Visit>
int64_t divisor(const Node& node, const Pooling& p, std::span<const int64_t> strides,
                std::span<const int64_t> y, Visit visit) {
  int64_t inside = 0;
  const int64_t places = for_each_in_window(p, strides, y, [&](int64_t index) {
    ++inside;
    visit(index);
  });
  return std::max<int64_t>(1, node.int_or("count_include_pad", 0) != 0 ? places : inside);
}

Tensors average_pool(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    const Pooling p = pooling(c.node(), x.dims);
    const auto strides = strides_of(p.x_dims);
    Array<T> y(p.y_dims);
    for_each_position(p.y_dims, [&](std::span<const int64_t> at, int64_t i) {
      T sum = 0;
      const int64_t count =
          divisor(c.node(), p, strides, at, [&](int64_t index) { sum += x[index]; });
      y[i] = sum / static_cast<T>(count);
    });
    return {to_tensor(y, dtype)};
  });
}

/// Inputs dy, the shape of x.
Tensors average_pool_grad(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> dy = c.array<T>(0);
    const Pooling p = pooling(c.node(), c.input(1).integers());
    const auto strides = strides_of(p.x_dims);
    Array<T> dx(p.x_dims);
    for_each_position(p.y_dims, [&](std::span<const int64_t> at, int64_t i) {
      std::vector<int64_t> window;
      const int64_t count =
          divisor(c.node(), p, strides, at, [&](int64_t index) { window.push_back(index); });
      for (const int64_t index : window) dx[index] += dy[i] / static_cast<T>(count);
    });
    return {to_tensor(dx, dtype)};
  });
}

/// The shape of images of which each channel has one element left.
std::vector<int64_t> pooled_to_one_place(std::span<const int64_t> x_dims) {
  if (x_dims.size() < 3) throw Error("its input has no spatial dimensions");
  std::vector<int64_t> dims(x_dims.size(), 1);
  dims[0] = x_dims[0];
  dims[1] = x_dims[1];
  return dims;
}

Tensors global_average_pool(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    Array<T> y(pooled_to_one_place(x.dims));
    const int64_t plane = y.size() == 0 ? 1 : x.size() / y.size();
    for (int64_t i = 0; i < x.size(); ++i) y[i / plane] += x[i];
    for (T& value : y.data) value /= static_cast<T>(plane);
    return {to_tensor(y, dtype)};
  });
}

Tensors global_max_pool(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    Array<T> y(pooled_to_one_place(x.dims));
    const int64_t plane = y.size() == 0 ? 1 : x.size() / y.size();
    if (plane == 0) throw Error("an image without elements has no largest one");
    for (int64_t i = 0; i < y.size(); ++i) {
      T best = x[i * plane];
      for (int64_t k = 1; k < plane; ++k) {
        const T next = x[i * plane + k];
        if (next > best || next != next) best = next;
      }
      y[i] = best;
    }
    return {to_tensor(y, dtype)};
  });
}

constexpr KernelDef kPoolKernels[] = {
    {"AveragePool", average_pool},
    {"AveragePoolGrad", average_pool_grad, "onward"},
    {"GlobalAveragePool", global_average_pool},
    {"GlobalMaxPool", global_max_pool},
    {"MaxPool", max_pool},
};

}  // namespace

std::span<const KernelDef> pool_kernels() { return kPoolKernels; }

}  // namespace onward::eval
