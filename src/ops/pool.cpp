#include "ops/families.h"
#include "ops/type_rules.h"

namespace onward {
namespace {

std::vector<NamedAttribute> window(const Node& node) {
  std::vector<NamedAttribute> attributes;
  for (const char* name : {"dilations", "kernel_shape", "pads", "strides"}) {
    if (const auto* list = node.get<std::vector<int64_t>>(name))
      attributes.push_back({name, *list});
  }
  attributes.push_back({"ceil_mode", node.int_or("ceil_mode", 0)});
  attributes.push_back({"auto_pad", node.string_or("auto_pad", "NOTSET")});
  return attributes;
}

/// The largest element's index, which the operator gives as its second output, says where to go
/// back.
Grads max_pool_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.grad(0);
  if (c.attribute("storage_order", 0) == 0) {
    return {scatter_add(dy, c.demanded_output(1, DType::i64), shape_of(x))};
  }
  // Indices in column order are no use here; another run gives them in row order.
  const auto again =
      c.builder().add_many("MaxPool", "", {x.value()}, {x.dtype(), DType::i64}, window(c.node()));
  return {scatter_add(dy, again[1], shape_of(x))};
}

std::vector<NamedAttribute> average_window(const Node& node) {
  std::vector<NamedAttribute> attributes = window(node);
  attributes.push_back({"count_include_pad", node.int_or("count_include_pad", 0)});
  return attributes;
}

// The mean over a window is linear: its way back spreads each dy over its window.
Grads average_pool_vjp(const VjpContext& c) {
  const Expr dy = c.grad(0);
  return {c.builder().add_internal("AveragePoolGrad", values({dy, shape_of(c.input(0))}),
                                   dy.dtype(), average_window(c.node()))};
}

Grads average_pool_grad_vjp(const VjpContext& c) {
  const Expr g = c.grad(0);
  return {c.builder().add("AveragePool", {g.value()}, g.dtype(), average_window(c.node()))};
}

std::vector<InferredOutput> average_pool_grad_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 1, known);
}

Grads global_average_pool_vjp(const VjpContext& c) {
  const Expr x = c.input(0), dy = c.grad(0);
  const auto size = [&](Expr value) {
    return cast(c.builder().add("Size", {value.value()}, DType::i64), dy.dtype());
  };
  return {expand(dy, shape_of(x)) * (size(dy) / size(x))};
}

const OpDef kOps[] = {
    {.name = "AveragePool", .vjp = average_pool_vjp},
    {.name = "AveragePoolGrad",
     .domain = kInternalDomain,
     .vjp = average_pool_grad_vjp,
     .types = average_pool_grad_types},
    {.name = "GlobalAveragePool", .vjp = global_average_pool_vjp},
    {.name = "MaxPool", .vjp = max_pool_vjp},
};

}  // namespace

std::span<const OpDef> pool_ops() { return kOps; }

}  // namespace onward
