#pragma once

#include <cstdint>

#include "ir/dtype.h"

namespace onward {

/// The value of a float of at most 16 bits (f16, bf16, the 8-, 6- and 4-bit kinds) given by its
/// bits.
float decode_small_float(DType dtype, uint32_t bits);

}  // namespace onward
