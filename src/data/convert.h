#pragma once

#include <optional>
#include <string>

#include "ir/tensor.h"

namespace onward {

/// True where every value of type `from` is a value of type `to`: u8 to f32, but not i32 to f32.
bool converts_exactly(DType from, DType to);

/// Why the elements of a tensor can't become others of type `to`, and what to pass instead; nothing
/// where they can. Floats are rounded to narrower ones but never to infinity; whatever becomes or
/// was an integer keeps its value.
std::optional<std::string> conversion_problem(const Tensor& tensor, DType to);

/// The tensor with elements of another type, for which there is no conversion_problem.
Tensor converted(const Tensor& tensor, DType to);

/// An array as an input of that type takes it: its elements converted, and a last dimension of one
/// added or left out where the ranks differ by it. Throws an Error where it does not fit.
Tensor fitted(const Tensor& array, const Type& type);

/// The dimensions that `fitted` gives the array; its own where that would not help.
Tensor with_fitting_rank(const Tensor& array, const Type& type);

}  // namespace onward
