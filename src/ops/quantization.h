#pragma once

#include "ir/graph.h"

namespace onward {

/// The numbers that a quantized type can hold.
struct QuantizedRange {
  double low, high;
  bool is_whole;
};

/// Throws Error for a type that is none.
QuantizedRange quantized_range(DType dtype);

/// The type of a QuantizeLinear's result, given that of its zero point (`undefined` where it is
/// left out); throws Error where the attribute says another, or a type that is not quantized.
DType quantized_type(const Node& node, DType zero_point);

/// The type in which a QuantizeLinear divides by scales of that type.
DType division_type(const Node& node, DType scale);

/// Whether a number beyond the range becomes the nearest in it: always, but for floats of 8 bits.
bool saturates(const Node& node, DType quantized);

}  // namespace onward
