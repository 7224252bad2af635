#pragma once

#include "ir/tensor.h"

namespace onward::eval {

/// Numbers as texts: the shortest that is read as the same number of the same type. Floats that are
/// no numbers are NaN, INF and -INF, truth values 1 and 0.
Tensor numbers_to_texts(const Tensor& numbers);

/// Texts as numbers: whole or decimal, with or without an exponent; inf, infinity and nan in any
/// case, and white space around them. Integers drop what stands behind the point. Throws Error
/// where a text is no number, or one that is beyond the type's range.
Tensor texts_to_numbers(const Tensor& texts, DType to);

}  // namespace onward::eval
