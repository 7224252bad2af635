// Operators that pick, join and move elements. Where an element came from is asked of the operator
// itself: run on the numbers 0, 1, 2 ... it gives the index of each of its results.

#include <onward/error.h>

#include "ops/families.h"
#include "ops/type_rules.h"

namespace onward {
namespace {

/// The node's operator with the same attributes and other inputs.
Expr same_operator(const VjpContext& c, std::vector<Value*> inputs, DType dtype) {
  std::vector<NamedAttribute> attributes;
  for (const Attribute& attribute : c.node().attributes()) {
    if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
      attributes.push_back({attribute.name, *number});
    } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
      attributes.push_back({attribute.name, *text});
    } else {
      throw Bug("an attribute that is neither a number nor a text");
    }
  }
  return c.builder().add(c.node().op, std::move(inputs), dtype, attributes);
}

/// Each element's gradient goes back to where the element came from.
Grads picked_vjp(const VjpContext& c) {
  const Expr x = c.input(0);
  std::vector<Value*> inputs(c.node().inputs().begin(), c.node().inputs().end());
  inputs[0] = flat_indices(x).value();
  return {scatter_add(c.grad(0), same_operator(c, std::move(inputs), DType::i64), shape_of(x))};
}

/// dy's slices go back to the slices of x that the indices picked; `x_shape` is x's.
Expr gather_grad(const Node& like, Expr dy, Expr indices, Expr x_shape) {
  return dy.builder().add_internal("GatherGrad", values({dy, indices, x_shape}), dy.dtype(),
                                   {{"axis", like.int_or("axis", 0)}});
}

Grads gather_vjp(const VjpContext& c) {
  return {gather_grad(c.node(), c.grad(0), c.input(1), shape_of(c.input(0)))};
}

Grads gather_grad_vjp(const VjpContext& c) {
  return {gather(c.grad(0), c.input(1), c.attribute("axis", 0))};
}

std::vector<Expr> gather_grad_expansion(const ExpandContext& c) {
  const Expr shape = c.input(2);
  Builder& b = c.builder();
  const Expr places = numbers_below(b.add("ReduceProd", {shape.value()}, DType::i64));
  const Expr origin = gather(reshape(places, shape), c.input(1), c.node().int_or("axis", 0));
  return {scatter_add(c.input(0), origin, shape)};
}

std::vector<InferredOutput> gather_grad_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 2, known);
}

/// Padding with a constant marks its places by -1; all other modes repeat elements of x.
Grads pad_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.grad(0);
  Builder& b = c.builder();
  std::vector<Value*> inputs(c.node().inputs().begin(), c.node().inputs().end());
  inputs.resize(std::max<size_t>(inputs.size(), 3), nullptr);
  inputs[0] = flat_indices(x).value();
  inputs[2] = b.scalar(-1, DType::i64).value();
  const Expr origin = same_operator(c, std::move(inputs), DType::i64);
  Grads grads = {scatter_add(dy, origin, shape_of(x))};
  if (c.has_input(2)) {
    const Expr outside = where(less(origin, b.scalar(0, DType::i64)), dy, zeros_like(dy));
    grads.resize(3);
    grads[2] = sum_to(outside, shape_of(c.input(2)));
  }
  return grads;
}

/// Each input is the part of the gradient behind those before it.
Grads concat_vjp(const VjpContext& c) {
  const int64_t axis = c.attribute("axis", 0);
  Builder& b = c.builder();
  const Expr along = b.integers({axis});
  Expr begin = b.integers({0});
  Grads grads;
  for (size_t i = 0; i < c.node().inputs().size(); ++i) {
    const Expr end = begin + dim_of(c.input(i), axis);
    grads.push_back(slice(c.grad(0), begin, end, along));
    begin = end;
  }
  return grads;
}

Grads split_vjp(const VjpContext& c) {
  std::vector<Value*> parts;
  for (size_t i = 0; i < c.node().outputs().size(); ++i) {
    if (c.has_grad(i)) {
      parts.push_back(c.grad(i).value());
    } else {
      // A part that nobody uses, even one that the node leaves out, still has its place.
      parts.push_back(zeros_like(c.demanded_output(i, c.input(0).dtype())).value());
    }
  }
  return {c.builder().add("Concat", parts, c.input(0).dtype(), {{"axis", c.attribute("axis", 0)}})};
}

/// Each element is the first of the values or the second, and goes back to that one.
Grads one_hot_vjp(const VjpContext& c) {
  const Expr off_on = c.builder().integers({0, 1});
  const Expr origin = same_operator(c, values({c.input(0), c.input(1), off_on}), DType::i64);
  return {std::nullopt, std::nullopt, scatter_add(c.grad(0), origin, shape_of(c.input(2)))};
}

/// y[i] = start + i * delta; the limit decides only how many there are.
Grads range_vjp(const VjpContext& c) {
  const Expr dy = c.grad(0), i = cast(flat_indices(dy), dy.dtype());
  return {sum_to(dy, shape_of(c.input(0))), std::nullopt, sum_to(dy * i, shape_of(c.input(2)))};
}

const OpDef kIndexingOps[] = {
    {.name = "Concat", .vjp = concat_vjp, .traits = kMovesData | kAnyLayout},
    {.name = "Gather",
     .vjp = gather_vjp,
     .traits = kMovesData,
     .inputs = {In::embedding, In::index}},
    {.name = "GatherElements",
     .vjp = picked_vjp,
     .traits = kMovesData,
     .inputs = {In::data, In::index}},
    {.name = "GatherGrad",
     .domain = kInternalDomain,
     .vjp = gather_grad_vjp,
     .expansion = gather_grad_expansion,
     .types = gather_grad_types,
     .inputs = {In::data, In::index, In::shape}},
    {.name = "Pad", .vjp = pad_vjp, .inputs = {In::data, In::shape, In::setting, In::index}},
    {.name = "Slice", .vjp = picked_vjp, .traits = kMovesData, .inputs = {In::data, In::index}},
    {.name = "Split", .vjp = split_vjp, .traits = kMovesData, .inputs = {In::data, In::shape}},
    {.name = "NonZero", .no_gradient = "its result is indices"},
    {.name = "OneHot",
     .vjp = one_hot_vjp,
     .inputs = {In::index, In::shape, In::setting},
     .constant_in = inputs_at({0, 1})},
    {.name = "Range", .vjp = range_vjp, .constant_in = inputs_at({1})},
};

}  // namespace

std::span<const OpDef> indexing_ops() { return kIndexingOps; }

}  // namespace onward
