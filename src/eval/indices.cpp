#include "eval/indices.h"

#include <fmt/format.h>

#include "eval/array.h"
#include "onward/error.h"

namespace onward::eval {

int64_t checked_index(int64_t index, int64_t size) {
  if (index < -size || index >= size) {
    throw Error(fmt::format("index {} is out of range for a dimension of {}", index, size));
  }
  return index < 0 ? index + size : index;
}

std::vector<int64_t> replaced_along(const Tensor& indices, std::span<const int64_t> dims,
                                    size_t axis) {
  const auto strides = strides_of(dims);
  std::vector<int64_t> result(static_cast<size_t>(indices.size()));
  for_each_position(indices.dims(), [&](std::span<const int64_t> position, int64_t i) {
    int64_t flat = 0;
    for (size_t d = 0; d < position.size(); ++d) {
      flat += strides[d] * (d == axis ? checked_index(indices.integer(i), dims[d]) : position[d]);
    }
    result[static_cast<size_t>(i)] = flat;
  });
  return result;
}

}  // namespace onward::eval
