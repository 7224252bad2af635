#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/plan.h"

namespace onward {

/// Moves the channels of an image tensor to the end, or back: for each image a transpose of a
/// matrix of channels and places.
struct Reorder {
  int64_t images = 1, rows = 1, columns = 1;  // of each matrix as it is before
  size_t element = 4;

  void run(const std::byte* from, std::byte* to) const;
};

/// What there is for each dimension (sizes, steps), in the order in which a layout has them.
std::vector<int64_t> laid_out(std::vector<int64_t> of_dimensions, Layout layout);

/// The reorder that brings a tensor of these dimensions into `layout`.
Reorder make_reorder(std::span<const int64_t> dims, DType dtype, Layout layout);

/// Transposes a stack of matrices of elements of 1, 2, 4 or 8 bytes.
void transpose_matrices(const std::byte* from, std::byte* to, const Reorder& order);

}  // namespace onward
