#pragma once

#include <cstdint>

#include "ir/type.h"

namespace onward {

// Arithmetic on the elements of partial tensors: numbers, names of dimensions, and the unknown.
// What can't be said exactly, or overflows, is unknown.

/// The same number, or the same dimension.
bool same(const Dim& a, const Dim& b);

Dim add(const Dim& a, const Dim& b);
Dim subtract(const Dim& a, const Dim& b);
Dim multiply(const Dim& a, const Dim& b);
Dim divide(const Dim& a, const Dim& b);  // toward zero, as the standard divides integers
Dim smaller(const Dim& a, const Dim& b);
Dim larger(const Dim& a, const Dim& b);

// 1 where it holds, 0 where it does not.
Dim is_equal(const Dim& a, const Dim& b);
Dim is_less(const Dim& a, const Dim& b);
Dim is_greater(const Dim& a, const Dim& b);
Dim is_at_most(const Dim& a, const Dim& b);
Dim is_at_least(const Dim& a, const Dim& b);

}  // namespace onward
