#pragma once

// Tensors of sequences whose elements are vectors for several heads.

#include "ops/builder.h"

namespace onward {

/// [batch, length, heads * size] as [batch, length, heads, size].
Expr split_heads(Expr x, int64_t heads);
/// [batch, length, heads, size] as [batch, length, heads * size].
Expr merge_heads(Expr x);
/// [batch, length, heads, size] with the heads before the length, and back.
Expr swap_heads(Expr x);

}  // namespace onward
