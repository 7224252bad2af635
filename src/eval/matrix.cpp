#include <fmt/format.h>

#include <cmath>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// Rows and columns of a stack of square matrices.
int64_t square_size(const std::vector<int64_t>& dims) {
  if (dims.size() < 2) throw Error("its input is no matrix");
  const int64_t n = dims.back();
  if (dims[dims.size() - 2] != n) {
    throw Error(fmt::format("a matrix of {} rows and {} columns has no determinant",
                            dims[dims.size() - 2], n));
  }
  return n;
}

/// By elimination, with the largest element of a column as its pivot. The matrix is used up.
template <typename T>
T determinant(std::vector<T>& a, int64_t n) {
  const auto at = [&](int64_t i, int64_t j) -> T& { return a[static_cast<size_t>(i * n + j)]; };
  T det = 1;
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(at(i, k)) > std::fabs(at(pivot, k))) pivot = i;
    }
    if (pivot != k) {
      for (int64_t j = k; j < n; ++j) std::swap(at(pivot, j), at(k, j));
      det = -det;
    }
    det *= at(k, k);
    if (at(k, k) == T(0)) continue;  // the column is zero, and NaN further on still counts
    for (int64_t i = k + 1; i < n; ++i) {
      const T factor = at(i, k) / at(k, k);
      for (int64_t j = k + 1; j < n; ++j) at(i, j) -= factor * at(k, j);
    }
  }
  return det;
}

Tensors det(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    const int64_t n = square_size(x.dims);
    Array<T> y({x.dims.begin(), x.dims.end() - 2});
    for (int64_t m = 0; m < y.size(); ++m) {
      const auto begin = x.data.begin() + m * n * n;
      std::vector<T> matrix(begin, begin + n * n);
      y[m] = determinant(matrix, n);
    }
    return {to_tensor(y, dtype)};
  });
}

/// Each is the determinant of the rest: also where the matrix has no inverse.
Tensors cofactors(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    const int64_t n = square_size(x.dims);
    Array<T> y(x.dims);
    std::vector<T> rest;
    for (int64_t e = 0; e < y.size(); ++e) {
      const int64_t matrix = e / (n * n), row = e / n % n, column = e % n;
      rest.clear();
      for (int64_t i = 0; i < n * n; ++i) {
        if (i / n != row && i % n != column) rest.push_back(x[matrix * n * n + i]);
      }
      const T minor = determinant(rest, n - 1);
      y[e] = (row + column) % 2 == 0 ? minor : -minor;
    }
    return {to_tensor(y, dtype)};
  });
}

constexpr KernelDef kMatrixKernels[] = {
    {"Cofactors", cofactors, "onward"},
    {"Det", det},
};

}  // namespace

std::span<const KernelDef> matrix_kernels() { return kMatrixKernels; }

}  // namespace onward::eval
