#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace onward {

/// The value of a float of at most 16 bits (f16, bf16, the 8-, 6- and 4-bit kinds) given by its
/// bits.
float decode_small_float(DType dtype, uint32_t bits);

/// What becomes of a number that is too large for its type.
enum class Overflow : uint8_t {
  saturate,  // the largest number; infinities too, where the type has none
  special,   // infinity, or NaN where the type has no infinity
};

/// The bits of the nearest float of at most 16 bits (ties to even).
uint32_t encode_small_float(DType dtype, double value, Overflow overflow);

}  // namespace onward
