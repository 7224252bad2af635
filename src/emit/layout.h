#pragma once

#include <vector>

#include "ir/tensor.h"

namespace onward::emit {

/// The tensor with its dimensions in another order: dimension i of the result is dimension
/// permutation[i] of the tensor. An empty permutation gives the tensor itself.
Tensor permuted(const Tensor& tensor, const std::vector<int64_t>& permutation);

}  // namespace onward::emit
