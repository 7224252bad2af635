#pragma once

// What the rules for the types of internal operators share.

#include "infer/propagate.h"
#include "ops/op_def.h"

namespace onward {

/// A tensor with the element type of input `like` and the shape that input `shape`, a vector of
/// integers, holds: as much of it as is known.
std::vector<InferredOutput> of_given_shape(const Node& node, size_t like, size_t shape,
                                           const KnownData& known);

/// The element type of input `like` and the shape of input `shaped`.
std::vector<InferredOutput> of_same_shape(const Node& node, size_t like, size_t shaped);

}  // namespace onward
