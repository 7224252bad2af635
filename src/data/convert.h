#pragma once

#include "ir/tensor.h"

namespace onward {

/// True where every value of type `from` is a value of type `to`: u8 to f32, but not i32 to f32.
bool converts_exactly(DType from, DType to);

/// The tensor with elements of another type, to which its own converts exactly.
Tensor converted(const Tensor& tensor, DType to);

}  // namespace onward
