#include "ops/families.h"

namespace onward {
namespace {

/// Operators that only lay the same elements out anew: the gradient goes back into the input's
/// shape.
Grads reshaped(const VjpContext& c) { return {reshape(c.grad(0), shape_of(c.input(0)))}; }

Grads transpose_vjp(const VjpContext& c) {
  const auto* permutation = c.node().get<std::vector<int64_t>>("perm");
  if (!permutation) return {c.builder().add("Transpose", {c.grad(0).value()}, c.grad(0).dtype())};
  std::vector<int64_t> inverse(permutation->size());
  for (size_t i = 0; i < permutation->size(); ++i) {
    inverse[static_cast<size_t>((*permutation)[i])] = static_cast<int64_t>(i);
  }
  return {transpose(c.grad(0), inverse)};
}

Grads expand_vjp(const VjpContext& c) { return {c.grad(0)}; }

const OpDef kShapeOps[] = {
    {.name = "Expand", .vjp = expand_vjp, .broadcasts = true},
    {.name = "Flatten", .vjp = reshaped},
    {.name = "Reshape", .vjp = reshaped},
    {.name = "Constant", .no_gradient = true},
    {.name = "ConstantOfShape", .no_gradient = true},
    {.name = "Shape", .no_gradient = true},
    {.name = "Size", .no_gradient = true},
    {.name = "Squeeze", .vjp = reshaped},
    {.name = "Transpose", .vjp = transpose_vjp},
    {.name = "Unsqueeze", .vjp = reshaped},
};

}  // namespace

std::span<const OpDef> shape_ops() { return kShapeOps; }

}  // namespace onward
