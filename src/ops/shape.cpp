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

/// Pairs of each element of a and its neighbour in b, one after the other.
Expr interleaved(Expr a, Expr b) {
  const Expr last = a.builder().integers({1});
  return reshape(concat({unsqueeze(a, last), unsqueeze(b, last)}, 1), a.builder().integers({-1}));
}

// A dimension of d elements that is repeated r times is one of r times one of d, expanded.
std::vector<Expr> tile_expansion(const ExpandContext& c) {
  const Expr x = c.input(0), repeats = c.input(1), shape = shape_of(x);
  const Expr apart =
      reshape(x, interleaved(expand(c.builder().integers({1}), shape_of(shape)), shape));
  return {reshape(expand(apart, interleaved(repeats, shape)), repeats * shape)};
}

const OpDef kShapeOps[] = {
    {.name = "Expand",
     .vjp = expand_vjp,
     .traits = kBroadcasts | kKeepsSameType | kMovesData,
     .inputs = {In::data, In::shape}},
    {.name = "Flatten", .vjp = reshaped, .traits = kView},
    {.name = "Reshape", .vjp = reshaped, .traits = kView, .inputs = {In::data, In::shape}},
    {.name = "Constant", .no_gradient = "it has no inputs"},
    {.name = "ConstantOfShape",
     .inputs = {In::shape},
     .no_gradient = "its result is the same number everywhere"},
    {.name = "Shape", .no_gradient = "its result is integers"},
    {.name = "Size", .no_gradient = "its result is an integer"},
    {.name = "Squeeze", .vjp = reshaped, .traits = kView, .inputs = {In::data, In::index}},
    {.name = "Tile",
     .expansion = tile_expansion,
     .traits = kKeepsSameType | kMovesData,
     .inputs = {In::data, In::shape}},
    {.name = "Transpose", .vjp = transpose_vjp, .traits = kPermutes},
    {.name = "Unsqueeze", .vjp = reshaped, .traits = kView, .inputs = {In::data, In::index}},
};

}  // namespace

std::span<const OpDef> shape_ops() { return kShapeOps; }

}  // namespace onward
