#pragma once

// Gradients of values of any type. That of a tensor is a tensor, that of a sequence a sequence of
// as many tensors, that of an optional value the gradient of what is in it.

#include <functional>

#include "ops/builder.h"

namespace onward {

/// Whether values of that type can have a gradient: floats, and what holds them.
bool has_gradient(const Type& type);

/// The type of the gradient of a value.
Type gradient_type(const Type& type);

/// A function of the elements of sequences of one length, one by one: a sequence of its results,
/// which are of type `result`.
Expr mapped_elements(std::initializer_list<Expr> sequences, const Type& result,
                     const std::function<Expr(const std::vector<Expr>&)>& function);

/// Zeros, as the gradient of a value that nothing depends on.
Expr zero_gradient(Expr value);

/// The sum of two gradients of one value.
Expr sum_of(Expr a, Expr b);

}  // namespace onward
