#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {

std::string constant_of_shape(const Call& c) {
  return fmt::format("torch.full({}, {}, dtype={})", c.ints(0), repeated_element(c),
                     c.dtype_name(c.result_dtype()));
}

// Both shapes are broadcast to each other.
std::string expand(const Call& c) {
  const std::string x = c.in(0);
  return fmt::format("{0}.expand(torch.broadcast_shapes({0}.shape, {1}))", x, c.ints(1));
}

std::string flatten(const Call& c) {
  const int64_t axis = c.int_attribute("axis", 1);
  const std::string x = c.in(0);
  if (axis == 1 && c.rank(0) >= 2) return fmt::format("torch.flatten({}, 1)", x);
  return fmt::format("{0}.reshape({2}.prod({0}.shape[:{1}]), {2}.prod({0}.shape[{1}:]))", x, axis,
                     c.module("math"));
}

std::string reshape(const Call& c) {
  const std::string x = c.in(0);
  if (const auto shape = c.known(1)) {
    if (shape->empty()) return fmt::format("{}.reshape(())", x);
    std::string all = reshape_sizes(c, *shape, "{}.shape[{}]");
    if (shape->size() == 1) all.pop_back();
    return fmt::format("{}.reshape({})", x, all);
  }
  if (c.int_attribute("allowzero", 0) != 0) return fmt::format("{}.reshape({})", x, c.ints(1));
  return fmt::format("{}({}, {})", c.function("reshape"), x, c.in(1));
}

std::string shape(const Call& c) {
  return fmt::format("torch.tensor({}.shape{}, dtype=torch.int64)", c.in(0), shape_part(c));
}

std::string squeeze(const Call& c) {
  if (!c.has(1)) return fmt::format("{}.squeeze()", c.in(0));
  const auto axes = c.known(1);
  if (axes && axes->size() == 1) return fmt::format("{}.squeeze({})", c.in(0), axes->front());
  return fmt::format("{}.squeeze(tuple({}))", c.in(0), c.ints(1));
}

std::string transpose(const Call& c) {
  const auto permutation = c.ints_attribute("perm");
  if (!permutation.empty()) {
    return fmt::format("{}.permute({})", c.in(0), fmt::join(permutation, ", "));
  }
  return fmt::format("{0}.permute(*reversed(range({0}.ndim)))", c.in(0));
}

std::string unsqueeze(const Call& c) {
  std::string text = c.in(0);
  if (const auto axes = added_axes(c)) {
    for (const int64_t axis : *axes) text += fmt::format(".unsqueeze({})", axis);
    return text;
  }
  return fmt::format("{}({}, {})", c.function("unsqueeze"), text, c.ints(1));
}

}  // namespace onward::emit::torch
