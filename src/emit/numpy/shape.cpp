#include <fmt/format.h>

#include <algorithm>

#include "emit/node_facts.h"
#include "emit/numpy/calls.h"

namespace onward::emit::numpy {

std::string constant_of_shape(const Call& c) {
  return fmt::format("{}.full({}, {}, dtype={})", c.np(), c.sizes(0), repeated_element(c),
                     c.dtype_name(c.result_dtype()));
}

// Both shapes are broadcast to each other.
std::string expand(const Call& c) {
  const auto& shape = c.node().output(0)->type.shape;
  if (shape && std::ranges::all_of(*shape, [](const Dim& dim) { return dim.value.has_value(); })) {
    std::vector<int64_t> dims;
    for (const Dim& dim : *shape) dims.push_back(*dim.value);
    return fmt::format("{}.broadcast_to({}, {})", c.np(), c.in(0), python_tuple(dims));
  }
  const std::string ones =
      fmt::format("{}.ones({}, dtype={})", c.np(), c.sizes(1), c.dtype_name(c.dtype(0)));
  if (c.dtype(0) == DType::boolean) {
    return fmt::format("{}.logical_and({}, {})", c.np(), c.in(0), ones);
  }
  return fmt::format("{} * {}", c.in(0), ones);
}

std::string flatten(const Call& c) {
  const int64_t axis = c.int_attribute("axis", 1);
  const std::string x = c.in(0);
  const auto& shape = c.value(0)->type.shape;
  if (axis == 1 && shape && shape->size() >= 2) {
    const auto rest = element_count(Shape(shape->begin() + 1, shape->end()));
    if (rest && *rest > 0) return fmt::format("{}.reshape({}, (-1, {}))", c.np(), x, *rest);
  }
  return fmt::format(
      "{2}.reshape({0}, ({3}.prod({2}.shape({0})[:{1}]), {3}.prod({2}.shape({0})[{1}:])))", x, axis,
      c.np(), c.module("math"));
}

std::string reshape(const Call& c) {
  const std::string x = c.in(0);
  if (const auto shape = c.known(1)) {
    return fmt::format("{}.reshape({}, ({}))", c.np(), x,
                       reshape_sizes(c, *shape, c.np() + ".shape({})[{}]"));
  }
  if (c.int_attribute("allowzero", 0) != 0) {
    return fmt::format("{}.reshape({}, {})", c.np(), x, c.sizes(1));
  }
  return fmt::format("{}({}, {})", c.function("reshape"), x, c.in(1));
}

std::string size(const Call& c) {
  return fmt::format(fmt::runtime(c.dialect().cast), fmt::format("{}.size({})", c.np(), c.in(0)),
                     c.dtype_name(DType::i64));
}

std::string squeeze(const Call& c) {
  if (!c.has(1)) return fmt::format("{}.squeeze({})", c.np(), c.in(0));
  const std::string axes = c.ints(1);
  // Functions that are traced ask for sizes that are known to be 1.
  if (!are_declared(c, *c.known(1))) {
    return fmt::format("{}({}, {})", c.function("squeeze"), c.in(0), axes);
  }
  if (c.known(1)->size() == 1) {
    return fmt::format("{}.squeeze({}, axis={})", c.np(), c.in(0), c.known(1)->front());
  }
  return fmt::format("{}.squeeze({}, axis={})", c.np(), c.in(0), axes);
}

std::string tile(const Call& c) {
  return fmt::format("{}.tile({}, {})", c.np(), c.in(0), c.ints(1));
}

std::string transpose(const Call& c) {
  const auto permutation = c.ints_attribute("perm");
  if (permutation.empty()) return fmt::format("{}.transpose({})", c.np(), c.in(0));
  return fmt::format("{}.transpose({}, {})", c.np(), c.in(0), python_tuple(permutation));
}

std::string unsqueeze(const Call& c) {
  std::string text = c.in(0);
  if (const auto axes = added_axes(c)) {
    for (const int64_t axis : *axes) {
      text = fmt::format("{}.expand_dims({}, {})", c.np(), text, axis);
    }
    return text;
  }
  return fmt::format("{}({}, {})", c.function("unsqueeze"), text, c.ints(1));
}

}  // namespace onward::emit::numpy
