#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/tensor.h"

namespace onward::eval {

/// An index counted from the front; throws Error where it is out of range for a dimension of
/// `size`.
int64_t checked_index(int64_t index, int64_t size);

/// For each position of `indices`, the flat index into `dims` with the one along `axis` replaced.
std::vector<int64_t> replaced_along(const Tensor& indices, std::span<const int64_t> dims,
                                    size_t axis);

}  // namespace onward::eval
