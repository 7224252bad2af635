#pragma once

#include "ir/graph.h"
#include "ir/tensor.h"

namespace onward::eval {

/// What TfIdfVectorizer finds in a row of words or integers, or in each row of a matrix: how often
/// each of its n-grams is there, weighted as its mode says.
Tensor count_ngrams(const Node& node, const Tensor& x);

}  // namespace onward::eval
