#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "emit/emitters.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// The sizes of a Reshape that the model fixes; `size_of` says how the source asks x for one.
template <typename SizeOf>
std::string sizes(const Call& c, std::vector<int64_t> shape, SizeOf size_of) {
  const bool zero_copies = c.int_attribute("allowzero", 0) == 0;
  std::vector<std::string> sizes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto known = shape[i] == 0 && zero_copies ? c.dim(0, i) : shape[i];
    sizes.push_back(known ? std::to_string(*known) : size_of(i));
  }
  return fmt::format("{}{}", fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

/// Whether the model says how large these dimensions of the first input are.
bool are_declared(const Call& c, std::span<const int64_t> axes) {
  const auto& shape = c.value(0)->type.shape;
  return shape && std::ranges::all_of(axes, [&](int64_t axis) {
           const auto at = static_cast<size_t>(axis < 0 ? axis + std::ssize(*shape) : axis);
           return (*shape)[at].value.has_value();
         });
}

/// The axes of an Unsqueeze in the order in which they can be added one by one; nothing where the
/// rank is needed and not known.
std::optional<std::vector<int64_t>> added_axes(const Call& c) {
  auto axes = c.known(1);
  if (!axes || axes->size() <= 1) return axes;
  for (int64_t& axis : *axes) {
    if (axis >= 0) continue;
    const auto& shape = c.value(0)->type.shape;
    if (!shape) return std::nullopt;
    axis += static_cast<int64_t>(shape->size() + axes->size());
  }
  std::ranges::sort(*axes);
  return axes;
}

/// ":2", "1:-1": the part of a shape that a Shape node gives; empty for all of it.
std::string shape_part(const Call& c) {
  const auto* end = c.node().get<int64_t>("end");
  const int64_t start = c.int_attribute("start", 0);
  if (!end && start == 0) return "";
  return fmt::format("[{}:{}]", start == 0 ? "" : std::to_string(start),
                     end ? std::to_string(*end) : "");
}

}  // namespace

std::string constant(const Call&) { throw Error("its value is no dense tensor of numbers"); }

std::string torch_constant_of_shape(const Call& c) {
  const auto* given = c.node().get<Tensor>("value");
  return fmt::format("torch.full({}, {}, dtype={})", c.ints(0),
                     given ? python_element(*given, 0) : "0.0", c.dtype_name(c.result_dtype()));
}

std::string keras_constant_of_shape(const Call& c) {
  const auto* given = c.node().get<Tensor>("value");
  return fmt::format("ops.full({}, {}, dtype={})", c.sizes(0),
                     given ? python_element(*given, 0) : "0.0", c.dtype_name(c.result_dtype()));
}

// Both shapes are broadcast to each other.
std::string torch_expand(const Call& c) {
  const std::string x = c.in(0);
  return fmt::format("{0}.expand(torch.broadcast_shapes({0}.shape, {1}))", x, c.ints(1));
}

std::string keras_expand(const Call& c) {
  const auto& shape = c.node().output(0)->type.shape;
  if (shape && element_count(*shape)) {
    std::vector<int64_t> dims;
    for (const Dim& dim : *shape) dims.push_back(*dim.value);
    return fmt::format("ops.broadcast_to({}, {})", c.in(0), python_tuple(dims));
  }
  if (c.dtype(0) == DType::boolean) {
    return fmt::format("ops.logical_and({}, ops.ones({}, dtype=\"bool\"))", c.in(0), c.sizes(1));
  }
  return fmt::format("{} * ops.ones({}, dtype={})", c.in(0), c.sizes(1), c.dtype_name(c.dtype(0)));
}

std::string torch_flatten(const Call& c) {
  const int64_t axis = c.int_attribute("axis", 1);
  const std::string x = c.in(0);
  if (axis == 1 && c.rank(0) >= 2) return fmt::format("torch.flatten({}, 1)", x);
  return fmt::format("{0}.reshape(math.prod({0}.shape[:{1}]), math.prod({0}.shape[{1}:]))", x,
                     axis);
}

std::string keras_flatten(const Call& c) {
  const int64_t axis = c.int_attribute("axis", 1);
  const std::string x = c.in(0);
  const auto& shape = c.value(0)->type.shape;
  if (axis == 1 && shape && shape->size() >= 2) {
    const auto rest = element_count(Shape(shape->begin() + 1, shape->end()));
    if (rest && *rest > 0) return fmt::format("ops.reshape({}, (-1, {}))", x, *rest);
  }
  return fmt::format(
      "ops.reshape({0}, (math.prod(ops.shape({0})[:{1}]), math.prod(ops.shape({0})[{1}:])))", x,
      axis);
}

std::string torch_reshape(const Call& c) {
  const std::string x = c.in(0);
  if (const auto shape = c.known(1)) {
    std::string all = sizes(c, *shape, [&](size_t i) { return fmt::format("{}.shape[{}]", x, i); });
    if (shape->size() == 1) all.pop_back();
    return shape->empty() ? fmt::format("{}.reshape(())", x)
                          : fmt::format("{}.reshape({})", x, all);
  }
  if (c.int_attribute("allowzero", 0) != 0) return fmt::format("{}.reshape({})", x, c.ints(1));
  return fmt::format("{}({}, {})", c.function("reshape"), x, c.in(1));
}

std::string keras_reshape(const Call& c) {
  const std::string x = c.in(0);
  if (const auto shape = c.known(1)) {
    const std::string all =
        sizes(c, *shape, [&](size_t i) { return fmt::format("ops.shape({})[{}]", x, i); });
    return fmt::format("ops.reshape({}, ({}))", x, all);
  }
  if (c.int_attribute("allowzero", 0) != 0) return fmt::format("ops.reshape({}, {})", x, c.in(1));
  return fmt::format("{}({}, {})", c.function("reshape"), x, c.in(1));
}

std::string torch_shape(const Call& c) {
  return fmt::format("torch.tensor({}.shape{}, dtype=torch.int64)", c.in(0), shape_part(c));
}

std::string keras_shape(const Call& c) {
  return fmt::format("ops.cast(ops.convert_to_tensor(ops.shape({}){}), \"int64\")", c.in(0),
                     shape_part(c));
}

std::string torch_squeeze(const Call& c) {
  if (!c.has(1)) return fmt::format("{}.squeeze()", c.in(0));
  const auto axes = c.known(1);
  if (axes && axes->size() == 1) return fmt::format("{}.squeeze({})", c.in(0), axes->front());
  return fmt::format("{}.squeeze(tuple({}))", c.in(0), c.ints(1));
}

std::string keras_squeeze(const Call& c) {
  if (!c.has(1)) return fmt::format("ops.squeeze({})", c.in(0));
  const std::string axes = c.ints(1);
  // Keras's own asks for sizes that are known to be 1.
  if (!are_declared(c, *c.known(1))) {
    return fmt::format("{}({}, {})", c.function("squeeze"), c.in(0), axes);
  }
  if (c.known(1)->size() == 1) {
    return fmt::format("ops.squeeze({}, axis={})", c.in(0), c.known(1)->front());
  }
  return fmt::format("ops.squeeze({}, axis={})", c.in(0), axes);
}

std::string torch_transpose(const Call& c) {
  const auto permutation = c.ints_attribute("perm");
  if (!permutation.empty()) {
    return fmt::format("{}.permute({})", c.in(0), fmt::join(permutation, ", "));
  }
  return fmt::format("{0}.permute(*reversed(range({0}.ndim)))", c.in(0));
}

std::string keras_transpose(const Call& c) {
  const auto permutation = c.ints_attribute("perm");
  if (permutation.empty()) return fmt::format("ops.transpose({})", c.in(0));
  return fmt::format("ops.transpose({}, {})", c.in(0), python_tuple(permutation));
}

std::string torch_unsqueeze(const Call& c) {
  std::string text = c.in(0);
  if (const auto axes = added_axes(c)) {
    for (const int64_t axis : *axes) text += fmt::format(".unsqueeze({})", axis);
    return text;
  }
  return fmt::format("{}({}, {})", c.function("unsqueeze"), text, c.ints(1));
}

std::string keras_unsqueeze(const Call& c) {
  std::string text = c.in(0);
  if (const auto axes = added_axes(c)) {
    for (const int64_t axis : *axes) text = fmt::format("ops.expand_dims({}, {})", text, axis);
    return text;
  }
  return fmt::format("{}({}, {})", c.function("unsqueeze"), text, c.ints(1));
}

}  // namespace onward::emit
