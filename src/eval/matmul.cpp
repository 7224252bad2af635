#include <fmt/format.h>

#include <cmath>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// A stack of matrices: y = a b for each pair that broadcasting makes. Vectors have been given
/// their missing dimension.
template <typename T>
Array<T> multiply(const Array<T>& a, const Array<T>& b) {
  const std::span<const int64_t> dims_a(a.dims), dims_b(b.dims);
  const int64_t m = a.dims[a.dims.size() - 2], k = a.dims.back(), n = b.dims.back();
  if (k != b.dims[b.dims.size() - 2]) {
    throw Error(fmt::format("inner dimensions differ: {} and {}", k, b.dims[b.dims.size() - 2]));
  }
  const auto batch_a = dims_a.first(a.dims.size() - 2), batch_b = dims_b.first(b.dims.size() - 2);
  std::vector<int64_t> dims = broadcast_shape(batch_a, batch_b);
  const auto of_a = broadcast_indices(batch_a, dims), of_b = broadcast_indices(batch_b, dims);
  dims.insert(dims.end(), {m, n});
  Array<T> y(dims);
  for (size_t batch = 0; batch < of_a.size(); ++batch) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t p = 0; p < k; ++p) {
        const T factor = a[of_a[batch] * m * k + i * k + p];
        for (int64_t j = 0; j < n; ++j) {
          T& sum = y[static_cast<int64_t>(batch) * m * n + i * n + j];
          sum = plus(sum, times(factor, b[of_b[batch] * k * n + p * n + j]));
        }
      }
    }
  }
  return y;
}

Tensors matmul(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    Array<T> a = c.array<T>(0), b = c.array<T>(1);
    if (a.dims.empty() || b.dims.empty()) throw Error("a factor is a scalar");
    const bool a_vector = a.rank() == 1, b_vector = b.rank() == 1;
    if (a_vector) a.dims.insert(a.dims.begin(), 1);
    if (b_vector) b.dims.push_back(1);
    Array<T> y = multiply(a, b);
    if (b_vector) y.dims.pop_back();
    if (a_vector) y.dims.erase(y.dims.end() - (b_vector ? 1 : 2));
    return {to_tensor(y, dtype)};
  });
}

template <typename T>
Array<T> transposed(const Array<T>& x) {
  Array<T> y({x.dims[1], x.dims[0]});
  for (int64_t i = 0; i < x.dims[0]; ++i) {
    for (int64_t j = 0; j < x.dims[1]; ++j) y[j * x.dims[0] + i] = x[i * x.dims[1] + j];
  }
  return y;
}

/// An attribute that is a float, whatever the tensors are.
template <typename T>
T factor_of(const Context& c, std::string_view name) {
  const float factor = c.node().float_or(name, 1);
  if constexpr (std::is_integral_v<T>) {
    if (std::trunc(factor) != factor || std::fabs(factor) > 0x1p24F) {
      throw Error(fmt::format("its {} of {} is no integer as its tensors are", name, factor));
    }
  }
  return static_cast<T>(factor);
}

Tensors gemm(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    Array<T> a = c.array<T>(0), b = c.array<T>(1);
    if (a.rank() != 2 || b.rank() != 2) throw Error("a factor is no matrix");
    if (c.node().int_or("transA", 0) != 0) a = transposed(a);
    if (c.node().int_or("transB", 0) != 0) b = transposed(b);
    Array<T> y = multiply(a, b);
    const T alpha = factor_of<T>(c, "alpha"), beta = factor_of<T>(c, "beta");
    for (T& value : y.data) value = times(alpha, value);
    if (c.has(2)) {
      const Array<T> bias = c.array<T>(2);
      if (broadcast_shape(y.dims, bias.dims) != y.dims) {
        throw Error(
            fmt::format("C of shape {} does not fit {}", to_string(bias.dims), to_string(y.dims)));
      }
      const auto from = broadcast_indices(bias.dims, y.dims);
      for (int64_t i = 0; i < y.size(); ++i) {
        y[i] = plus(y[i], times(beta, bias[from[static_cast<size_t>(i)]]));
      }
    }
    return {to_tensor(y, dtype)};
  });
}

constexpr KernelDef kMatmulKernels[] = {
    {"Gemm", gemm},
    {"MatMul", matmul},
};

}  // namespace

std::span<const KernelDef> matmul_kernels() { return kMatmulKernels; }

}  // namespace onward::eval
