#pragma once

// Tensors cut into pieces and put together again, of elements of any type.

#include <span>
#include <vector>

#include "ir/tensor.h"

namespace onward::eval {

/// The elements of several tensors of one type one after the other, so that take_elements can pick
/// from all of them.
Tensor joined(std::span<const Tensor* const> parts);

/// The tensors joined along an axis that they have; throws Error where their shapes do not fit.
Tensor concatenated(std::span<const Tensor* const> parts, int64_t axis);

/// Tensors of one shape along an axis that the result has and they do not.
Tensor stacked(std::span<const Tensor* const> parts, int64_t axis);

/// The elements from `begin` up to `end` along an axis; shared where they lie together.
Tensor cut(const Tensor& x, int64_t axis, int64_t begin, int64_t end);

/// Those at one index, without the axis.
Tensor at_index(const Tensor& x, int64_t axis, int64_t index);

}  // namespace onward::eval
