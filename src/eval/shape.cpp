#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "eval/families.h"
#include "eval/pieces.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

Tensor vector_of(const std::vector<int64_t>& numbers) {
  return Tensor::of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers);
}

Tensors constant(const Context& c) {
  const Node& node = c.node();
  if (const auto* tensor = node.get<Tensor>("value")) return {*tensor};
  if (const auto* number = node.get<float>("value_float")) return {Tensor::scalar<float>(*number)};
  if (const auto* number = node.get<int64_t>("value_int"))
    return {Tensor::scalar<int64_t>(*number)};
  if (const auto* list = node.get<std::vector<float>>("value_floats")) {
    return {Tensor::of<float>({static_cast<int64_t>(list->size())}, *list)};
  }
  if (const auto* list = node.get<std::vector<int64_t>>("value_ints")) return {vector_of(*list)};
  if (const auto* text = node.get<std::string>("value_string")) {
    return {Tensor::of_strings({}, {*text})};
  }
  if (const auto* list = node.get<std::vector<std::string>>("value_strings")) {
    return {Tensor::of_strings({static_cast<int64_t>(list->size())}, *list)};
  }
  throw Error("it has no value that is a dense tensor");
}

Tensors shape(const Context& c) {
  const auto& dims = c.input(0).dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamped = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t begin = clamped(c.node().int_or("start", 0));
  const int64_t end = std::max(begin, clamped(c.node().int_or("end", rank)));
  return {vector_of({dims.begin() + begin, dims.begin() + end})};
}

Tensors size(const Context& c) { return {Tensor::scalar<int64_t>(c.input(0).size())}; }

Tensors reshape(const Context& c) {
  const Tensor& x = c.input(0);
  std::vector<int64_t> dims = c.input(1).integers();
  const bool zero_is_zero = c.node().int_or("allowzero", 0) != 0;
  int64_t known = 1;
  int64_t* open = nullptr;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !zero_is_zero) {
      if (i >= x.dims().size()) throw Error(fmt::format("dimension {} has nothing to copy", i));
      dims[i] = x.dims()[i];
    }
    if (dims[i] == -1) {
      if (open) throw Error("more than one dimension is -1");
      open = &dims[i];
    } else if (dims[i] < 0 || __builtin_mul_overflow(known, dims[i], &known)) {
      throw Error(fmt::format("{} is no shape", to_string(dims)));
    }
  }
  if (open) *open = known == 0 ? 0 : x.size() / known;
  if (checked_element_count(dims) != x.size()) {
    throw Error(fmt::format("{} elements can't take the shape {}", x.size(), to_string(dims)));
  }
  return {x.reshaped(std::move(dims))};
}

Tensors flatten(const Context& c) {
  const auto& dims = c.input(0).dims();
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = c.node().int_or("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank)
    throw Error(fmt::format("axis {} is out of range for rank {}", axis, rank));
  const std::span<const int64_t> all(dims);
  return {c.input(0).reshaped({checked_element_count(all.first(static_cast<size_t>(axis))),
                               checked_element_count(all.subspan(static_cast<size_t>(axis)))})};
}

Tensors squeeze(const Context& c) {
  const auto& dims = c.input(0).dims();
  const auto rank = static_cast<int64_t>(dims.size());
  std::vector<bool> removed(dims.size(), !c.has(1));
  for (const int64_t axis : c.integers_or(1, {})) {
    const auto at = static_cast<size_t>(checked_axis(axis, rank));
    if (dims[at] != 1) throw Error(fmt::format("dimension {} is {}, not 1", axis, dims[at]));
    removed[at] = true;
  }
  std::vector<int64_t> kept;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!removed[i] || dims[i] != 1) kept.push_back(dims[i]);
  }
  return {c.input(0).reshaped(std::move(kept))};
}

Tensors unsqueeze(const Context& c) {
  const auto& dims = c.input(0).dims();
  const std::vector<int64_t> axes = c.input(1).integers();
  const auto rank = static_cast<int64_t>(dims.size() + axes.size());
  std::vector<int64_t> result(static_cast<size_t>(rank), 0);
  for (const int64_t axis : axes) {
    int64_t& dim = result[static_cast<size_t>(checked_axis(axis, rank))];
    if (dim == 1) throw Error(fmt::format("axis {} is given twice", axis));
    dim = 1;
  }
  auto next = dims.begin();
  for (int64_t& dim : result) {
    if (dim == 0) dim = *next++;
  }
  return {c.input(0).reshaped(std::move(result))};
}

Tensors transpose(const Context& c) {
  const Tensor& x = c.input(0);
  std::vector<int64_t> reversed(x.dims().size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto permutation = c.ints_attribute("perm", reversed);
  if (!std::is_permutation(permutation.begin(), permutation.end(), reversed.begin(),
                           reversed.end())) {
    throw Error(
        fmt::format("perm {} does not fit rank {}", to_string(permutation), reversed.size()));
  }
  const auto strides = strides_of(x.dims());
  std::vector<int64_t> dims, steps;
  for (const int64_t from : permutation) {
    dims.push_back(x.dims()[static_cast<size_t>(from)]);
    steps.push_back(strides[static_cast<size_t>(from)]);
  }
  std::vector<int64_t> indices(static_cast<size_t>(x.size()));
  for_each_position(dims, [&](std::span<const int64_t> position, int64_t i) {
    indices[static_cast<size_t>(i)] =
        std::inner_product(position.begin(), position.end(), steps.begin(), int64_t{0});
  });
  return {take_elements(x, std::move(dims), indices)};
}

Tensors expand(const Context& c) {
  const Tensor& x = c.input(0);
  const auto dims = broadcast_shape(x.dims(), c.input(1).integers());
  return {take_elements(x, dims, broadcast_indices(x.dims(), dims))};
}

constexpr KernelDef kShapeKernels[] = {
    {"Constant", constant}, {"Expand", expand},       {"Flatten", flatten},
    {"Reshape", reshape},   {"Shape", shape},         {"Size", size},
    {"Squeeze", squeeze},   {"Transpose", transpose}, {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const KernelDef> shape_kernels() { return kShapeKernels; }

}  // namespace onward::eval
