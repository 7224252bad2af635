// Resize, and its backward: the same weights, applied the other way round.

#include <fmt/format.h>

#include <numeric>

#include "ir/memory_limit.h"
#include "onward/error.h"
#include "ops/families.h"
#include "ops/resize_axes.h"
#include "ops/type_rules.h"

namespace onward {
namespace {

constexpr const char* kTexts[] = {"coordinate_transformation_mode", "keep_aspect_ratio_policy",
                                  "mode", "nearest_mode"};
constexpr const char* kFlags[] = {"antialias", "exclude_outside"};

/// All attributes but `extrapolation_value`: what is constant has no part in a derivative.
std::vector<NamedAttribute> linear_part(const Node& node) {
  std::vector<NamedAttribute> attributes;
  for (const char* name : kTexts) {
    if (const auto* text = node.get<std::string>(name)) attributes.push_back({name, *text});
  }
  for (const char* name : kFlags) attributes.push_back({name, node.int_or(name, 0)});
  attributes.push_back({"cubic_coeff_a", node.float_or("cubic_coeff_a", -0.75F)});
  if (const auto* axes = node.get<std::vector<int64_t>>("axes")) {
    attributes.push_back({"axes", *axes});
  }
  return attributes;
}

/// Region, scales and sizes of a node, which begin at input `first`.
std::vector<Value*> with_operands(std::vector<Value*> inputs, const Node& node, size_t first) {
  for (size_t i = first; i < first + 3; ++i) inputs.push_back(node.input(i));
  while (!inputs.back()) inputs.pop_back();
  return inputs;
}

// y = W x + constant along each dimension, so that dx = W^T dy.
Grads resize_vjp(const VjpContext& c) {
  const Expr dy = c.grad(0);
  const std::vector<Value*> inputs =
      with_operands({dy.value(), shape_of(c.input(0)).value()}, c.node(), 1);
  return {c.builder().add_internal("ResizeGrad", inputs, dy.dtype(), linear_part(c.node()))};
}

// ResizeGrad(dy, the shape of x, roi, scales, sizes)
Grads resize_grad_vjp(const VjpContext& c) {
  const Expr g = c.grad(0);
  return {c.builder().add("Resize", with_operands({g.value()}, c.node(), 2), g.dtype(),
                          linear_part(c.node()))};
}

std::vector<InferredOutput> resize_grad_types(const Node& node, const KnownData& known) {
  return of_given_shape(node, 0, 1, known);
}

/// A constant of the graph, or null.
const Tensor* constant_at(const Value* value) {
  if (!value) return nullptr;
  if (value->tensor() && !value->is_input()) return value->tensor();
  const Node* producer = value->producer();
  const bool is_constant = producer && producer->op == "Constant" && producer->domain.empty();
  return is_constant ? producer->get<Tensor>("value") : nullptr;
}

/// Where all that the weights depend on is known.
std::optional<std::vector<ResizedAxis>> known_axes(const Node& node) {
  const auto& shape = node.output(0)->type.shape;
  if (!shape) return std::nullopt;
  std::vector<int64_t> dims;
  for (const Dim& dim : *shape) {
    if (!dim.value) return std::nullopt;
    dims.push_back(*dim.value);
  }
  ResizeOperands operands;
  const Tensor** fields[] = {&operands.roi, &operands.scales, &operands.sizes};
  for (size_t i = 0; i < 3; ++i) {
    *fields[i] = constant_at(node.input(2 + i));
    if (node.input(2 + i) && !*fields[i]) return std::nullopt;
  }
  return resized_axes(node, dims, operands);
}

/// W^T of a dimension, [output, input], with zeros in the rows of positions outside.
Tensor transposed_weights(const ResizedAxis& axis) {
  const int64_t dims[] = {axis.output, axis.input};
  std::vector<double> matrix(static_cast<size_t>(checked_list_size(dims, sizeof(double))), 0.0);
  for (int64_t at = 0; at < axis.output; ++at) {
    if (axis.is_outside(at)) continue;
    for (int64_t k = at * axis.taps; k < (at + 1) * axis.taps; ++k) {
      const auto tap = static_cast<size_t>(k);
      matrix[static_cast<size_t>(at * axis.input + axis.indices[tap])] += axis.weights[tap];
    }
  }
  return Tensor::of<double>({axis.output, axis.input}, matrix);
}

/// x times a matrix along a dimension.
Expr times_along(Expr x, size_t axis, size_t rank, Expr matrix) {
  if (axis + 1 == rank) return matmul(x, matrix);
  std::vector<int64_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int64_t>(d);
  std::swap(order[axis], order[rank - 1]);
  return transpose(matmul(transpose(x, order), matrix), order);
}

bool takes_region(const Node& node) {
  return node.string_or("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
}

/// The same where sizes are open, of the axis that is number `place` among those that scales, sizes
/// and regions are for: W^T is what the operator makes of the unit matrix, transposed.
Expr computed_weights(const ExpandContext& c, int64_t place, Expr size, Expr resized) {
  Builder& b = c.builder();
  const DType dtype = c.input(0).dtype();
  const Expr places = numbers_below(size);
  const Expr unit = cast(equal(unsqueeze(places, b.integers({1})), places), dtype);
  std::vector<NamedAttribute> attributes = linear_part(c.node());
  std::erase_if(attributes, [](const NamedAttribute& each) { return each.name == "axes"; });
  attributes.push_back({"axes", std::vector<int64_t>{1}});
  std::vector<Value*> inputs = {unit.value(), nullptr, nullptr, nullptr};
  if (takes_region(c.node())) {
    // Starts, then ends.
    const Expr count = shape_of(c.input(2)) / b.integers({2});
    const Expr at = concat({b.integers({place}), count + b.integers({place})}, 0);
    inputs[1] = gather(c.input(2), at, 0).value();
  }
  if (c.has_input(4)) {
    inputs[3] = resized.value();
  } else {
    inputs[2] = gather(c.input(3), b.integers({place}), 0).value();
    inputs.pop_back();
  }
  return transpose(b.add("Resize", inputs, dtype, attributes), {1, 0});
}

/// Nearest elements: run on the places of x, the operator says where each result came from. The
/// places are i32, which other runtimes resize and i64 not.
Expr nearest_grad(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr shape = c.input(1);
  const Expr places = numbers_below(b.add("ReduceProd", {shape.value()}, DType::i64));
  std::vector<NamedAttribute> attributes = linear_part(c.node());
  attributes.push_back({"extrapolation_value", -1.0F});
  const Expr origin = b.add(
      "Resize", with_operands({cast(reshape(places, shape), DType::i32).value()}, c.node(), 2),
      DType::i32, attributes);
  return scatter_add(c.input(0), cast(origin, DType::i64), shape);
}

std::vector<Expr> resize_grad_expansion(const ExpandContext& c) {
  const Node& node = c.node();
  if (node.string_or("mode", "nearest") == "nearest") return {nearest_grad(c)};
  Builder& b = c.builder();
  Expr dx = c.input(0);
  if (const auto axes = known_axes(node)) {
    const size_t rank = node.output(0)->type.shape->size();
    for (const ResizedAxis& axis : *axes) {
      dx = times_along(dx, axis.axis, rank, cast(b.constant(transposed_weights(axis)), dx.dtype()));
    }
    return {dx};
  }
  const bool keeps_ratio = node.string_or("keep_aspect_ratio_policy", "stretch") != "stretch";
  if (c.has_input(4) && (c.has_input(3) || keeps_ratio)) {
    throw Error("all sizes must be known where they follow from one another");
  }
  const auto of_result = onward::rank(node.output(0));
  const auto rank = of_result ? of_result : onward::rank(node.input(0));
  if (!rank) throw Error(fmt::format("the rank of '{}' must be known", node.input(0)->name()));
  std::vector<int64_t> named(static_cast<size_t>(*rank));
  std::iota(named.begin(), named.end(), 0);
  if (const auto* axes = node.get<std::vector<int64_t>>("axes")) named = *axes;
  const Tensor* scales = constant_at(node.input(3));
  for (size_t i = 0; i < named.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    if (scales && scales->number(place) == 1 && !takes_region(node)) continue;
    const int64_t axis = named[i] < 0 ? named[i] + *rank : named[i];
    const Expr size = gather(c.input(1), b.integers({axis}), 0);
    const Expr weights = computed_weights(c, place, size, dim_of(c.input(0), axis));
    dx = times_along(dx, static_cast<size_t>(axis), static_cast<size_t>(*rank), weights);
  }
  return {dx};
}

const OpDef kResizeOps[] = {
    {.name = "Resize",
     .vjp = resize_vjp,
     .inputs = {In::data, In::setting, In::setting, In::shape}},
    {.name = "ResizeGrad",
     .domain = kInternalDomain,
     .vjp = resize_grad_vjp,
     .expansion = resize_grad_expansion,
     .types = resize_grad_types,
     .inputs = {In::data, In::shape, In::setting, In::setting, In::shape}},
};

}  // namespace

std::span<const OpDef> resize_ops() { return kResizeOps; }

}  // namespace onward
