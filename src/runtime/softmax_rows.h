#pragma once

// Softmax of a row of numbers that lie side by side; compiled for the machine at hand like the tile
// functions.

#include <cstdint>

namespace onward {

template <typename T>
struct SoftmaxRows {
  T (*largest)(const T* x, int64_t n);
  /// y = exp(x - shift); gives the sum.
  T (*exponentials)(const T* x, T* y, T shift, int64_t n);
  /// The same sum alone.
  T (*sum)(const T* x, T shift, int64_t n);
  /// y = x * factor, which may be in place.
  void (*scale)(const T* x, T* y, T factor, int64_t n);
  /// y = (x - largest) - log_sum: the sum of the two would round the second off beside large x.
  void (*subtract)(const T* x, T* y, T largest, T log_sum, int64_t n);
  /// y = exp(x) * factor
  void (*scaled_exponentials)(const T* x, T* y, T factor, int64_t n);
};

template <typename T>
const SoftmaxRows<T>& softmax_rows();

}  // namespace onward
