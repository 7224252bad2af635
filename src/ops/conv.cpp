// Convolution is linear in x and in w, and so are its gradients: the three products below (Conv,
// ConvGradX, ConvGradW) are each other's gradients, to any order.

#include "ops/families.h"
#include "ops/type_rules.h"

namespace onward {
namespace {

/// The attributes that say how the windows lie; all three operators share them.
std::vector<NamedAttribute> window(const Node& node) {
  std::vector<NamedAttribute> attributes;
  for (const char* name : {"dilations", "kernel_shape", "pads", "strides"}) {
    if (const auto* list = node.get<std::vector<int64_t>>(name))
      attributes.push_back({name, *list});
  }
  attributes.push_back({"group", node.int_or("group", 1)});
  attributes.push_back({"auto_pad", node.string_or("auto_pad", "NOTSET")});
  return attributes;
}

Expr conv(const Node& like, Expr x, Expr w) {
  return x.builder().add("Conv", values({x, w}), x.dtype(), window(like));
}

/// dx for a given dy and w; `x` gives only its shape.
Expr conv_grad_x(const Node& like, Expr dy, Expr w, Expr x_shape) {
  return dy.builder().add_internal("ConvGradX", values({dy, w, x_shape}), dy.dtype(), window(like));
}

Expr conv_grad_w(const Node& like, Expr x, Expr dy, Expr w_shape) {
  return dy.builder().add_internal("ConvGradW", values({x, dy, w_shape}), dy.dtype(), window(like));
}

Grads conv_vjp(const VjpContext& c) {
  const Expr x = c.input(0), w = c.input(1), dy = c.grad(0);
  Grads grads = {conv_grad_x(c.node(), dy, w, shape_of(x)),
                 conv_grad_w(c.node(), x, dy, shape_of(w))};
  if (c.has_input(2)) {
    // The bias has one element a channel, dimension 1 of dy.
    Builder& b = c.builder();
    const Expr ones = expand(b.integers({1}), rank_of(dy) - 2);
    const Expr per_channel = sum_to(dy, concat({shape_of(c.input(2)), ones}, 0));
    grads.push_back(reshape(per_channel, shape_of(c.input(2))));
  }
  return grads;
}

Grads conv_grad_x_vjp(const VjpContext& c) {
  const Expr dy = c.input(0), w = c.input(1), g = c.grad(0);
  return {conv(c.node(), g, w), conv_grad_w(c.node(), g, dy, shape_of(w))};
}

Grads conv_grad_w_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.input(1), g = c.grad(0);
  return {conv_grad_x(c.node(), dy, g, shape_of(x)), conv(c.node(), x, g)};
}

/// Both have the shape that their third input gives.
std::vector<InferredOutput> conv_grad_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 2, known);
}

const OpDef kOps[] = {
    {.name = "Conv", .vjp = conv_vjp},
    {.name = "ConvGradW",
     .domain = kInternalDomain,
     .vjp = conv_grad_w_vjp,
     .types = conv_grad_types},
    {.name = "ConvGradX",
     .domain = kInternalDomain,
     .vjp = conv_grad_x_vjp,
     .types = conv_grad_types},
};

}  // namespace

std::span<const OpDef> conv_ops() { return kOps; }

}  // namespace onward
