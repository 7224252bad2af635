#pragma once

#include <span>

#include "eval/array.h"

namespace onward::eval {

/// The lines of a tensor along one axis, in the order of the other dimensions.
struct Lines {
  int64_t length;     // elements of a line
  int64_t step = 1;   // between them
  int64_t count = 1;  // of lines

  Lines(std::span<const int64_t> dims, int64_t axis) : length(dims[static_cast<size_t>(axis)]) {
    for (size_t d = 0; d < dims.size(); ++d) {
      if (static_cast<int64_t>(d) > axis) step *= dims[d];
      if (static_cast<int64_t>(d) != axis) count *= dims[d];
    }
  }

  /// Element `i` of a line.
  int64_t at(int64_t line, int64_t i) const {
    return (line / step * length + i) * step + line % step;
  }
};

}  // namespace onward::eval
