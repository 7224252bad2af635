#pragma once

#include <cmath>

#include "eval/array.h"

namespace onward::eval {

/// log softmax(x) along an axis; the largest element is taken out first, so that nothing overflows.
template <typename T>
Array<T> log_softmax(Array<T> x, int64_t axis) {
  if (x.size() == 0) return x;
  const std::span<const int64_t> all(x.dims);
  const auto at = static_cast<size_t>(axis);
  const int64_t outer = checked_element_count(all.first(at)), size = all[at];
  const int64_t inner = checked_element_count(all.subspan(at + 1));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      T* line = x.data.data() + o * size * inner + i;
      T largest = line[0];
      for (int64_t k = 1; k < size; ++k) largest = std::max(largest, line[k * inner]);
      T sum = 0;
      for (int64_t k = 0; k < size; ++k) sum += std::exp(line[k * inner] - largest);
      // One after the other: their sum would round the second off beside large x.
      const T log_sum = std::log(sum);
      for (int64_t k = 0; k < size; ++k) line[k * inner] = (line[k * inner] - largest) - log_sum;
    }
  }
  return x;
}

}  // namespace onward::eval
