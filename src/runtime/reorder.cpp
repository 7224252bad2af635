#include "runtime/reorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

/// Squares of this side fit the first cache, on both sides of the transpose.
constexpr int64_t kBlock = 32;

template <typename T>
void transpose_as(const T* from, T* to, const Reorder& order) {
  const int64_t rows = order.rows, columns = order.columns;
  const int64_t blocks = (rows + kBlock - 1) / kBlock;
  const double cost = static_cast<double>(kBlock * columns) * 0.5;
  parallel_for(order.images * blocks, cost, [&](int64_t first, int64_t last) {
    for (int64_t unit = first; unit < last; ++unit) {
      const int64_t image = unit / blocks, r0 = unit % blocks * kBlock;
      const int64_t r1 = std::min(r0 + kBlock, rows);
      const T* x = from + image * rows * columns;
      T* y = to + image * rows * columns;
      for (int64_t c0 = 0; c0 < columns; c0 += kBlock) {
        const int64_t c1 = std::min(c0 + kBlock, columns);
        for (int64_t c = c0; c < c1; ++c) {
          for (int64_t r = r0; r < r1; ++r) y[c * rows + r] = x[r * columns + c];
        }
      }
    }
  });
}

}  // namespace

void transpose_matrices(const std::byte* from, std::byte* to, const Reorder& order) {
  const auto as = [&]<typename T>(T) {
    transpose_as(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to), order);
  };
  switch (order.element) {
    case 1:
      return as(uint8_t{});
    case 2:
      return as(uint16_t{});
    case 4:
      return as(uint32_t{});
    case 8:
      return as(uint64_t{});
    default:
      throw Bug(fmt::format("elements of {} bytes can't be transposed", order.element));
  }
}

void Reorder::run(const std::byte* from, std::byte* to) const {
  transpose_matrices(from, to, *this);
}

std::vector<int64_t> laid_out(std::vector<int64_t> of_dimensions, Layout layout) {
  if (layout == Layout::channels_last) {
    std::rotate(of_dimensions.begin() + 1, of_dimensions.begin() + 2, of_dimensions.end());
  }
  return of_dimensions;
}

Reorder make_reorder(std::span<const int64_t> dims, DType dtype, Layout layout) {
  int64_t places = 1;
  for (const int64_t dim : dims.subspan(2)) places *= dim;
  Reorder order{.images = dims[0],
                .rows = dims[1],
                .columns = places,
                .element = static_cast<size_t>(bits(dtype)) / 8};
  if (layout == Layout::plain) std::swap(order.rows, order.columns);
  return order;
}

}  // namespace onward
