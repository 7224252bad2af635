#include <fmt/format.h>

#include <optional>
#include <span>

#include "emit/node_facts.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

/// The dimension from which on a Reshape makes one of all; nothing where it does something else.
std::optional<size_t> flattened_from(const Call& c) {
  const auto &from = c.value(0)->type.shape, &to = c.node().output(0)->type.shape;
  if (!from || !to || to->size() < 2 || from->size() <= to->size()) return std::nullopt;
  const size_t last = to->size() - 1;
  for (size_t i = 0; i < last; ++i) {
    if (!keeps_size(c, i)) return std::nullopt;
  }
  const auto rest = element_count(Shape(from->begin() + static_cast<int64_t>(last), from->end()));
  return rest && *rest > 0 && rest == (*to)[last].value ? std::optional(last) : std::nullopt;
}

/// What torch's expand takes where each dimension is either kept or made of one of size 1.
std::optional<std::vector<std::string>> expanded_sizes(const Call& c) {
  auto sizes = c.size_texts(1);
  if (const auto known = c.known(1)) {
    sizes.emplace();
    for (const int64_t size : *known) sizes->push_back(std::to_string(size));
  }
  const auto& shape = c.value(0)->type.shape;
  if (!sizes || !shape || sizes->size() < shape->size() || sizes->empty()) return std::nullopt;
  const size_t more = sizes->size() - shape->size();
  for (size_t i = 0; i < shape->size(); ++i) {
    std::string& size = (*sizes)[i + more];
    const auto own = (*shape)[i].value;
    if (size == "1" || (own && size == std::to_string(*own))) {
      size = "-1";
    } else if (own != 1) {
      return std::nullopt;
    }
  }
  return sizes;
}

/// The two dimensions that a permutation exchanges, where it does only that.
std::optional<std::pair<size_t, size_t>> swapped(std::span<const int64_t> permutation) {
  std::vector<size_t> moved;
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) moved.push_back(i);
  }
  if (moved.size() != 2) return std::nullopt;
  return std::pair(moved[0], moved[1]);
}

}  // namespace

std::string constant_of_shape(const Call& c) {
  return fmt::format("torch.full({}, {}, dtype={})", c.ints(0), repeated_element(c),
                     c.dtype_name(c.result_dtype()));
}

// Both shapes are broadcast to each other.
std::string expand(const Call& c) {
  const std::string x = c.in(0);
  if (const auto sizes = expanded_sizes(c)) {
    return fmt::format("{}.expand({})", x, fmt::join(*sizes, ", "));
  }
  return fmt::format("{0}.expand(torch.broadcast_shapes({0}.shape, {1}))", x, c.ints(1));
}

std::string flatten(const Call& c) {
  const int64_t axis = c.int_attribute("axis", 1);
  const std::string x = c.in(0);
  if (axis == 1 && c.rank(0) >= 2) return fmt::format("torch.flatten({}, 1)", x);
  return fmt::format("{0}.reshape({2}.prod({0}.shape[:{1}]), {2}.prod({0}.shape[{1}:]))", x, axis,
                     c.module("math"));
}

std::string range(const Call& c) { return fmt::format("torch.arange({})", counted_size(c)); }

std::string reshape(const Call& c) {
  const std::string x = c.in(0);
  if (const auto axis = flattened_from(c)) return fmt::format("{}.flatten({})", x, *axis);
  if (const auto shape = c.known(1)) {
    if (shape->empty()) return fmt::format("{}.reshape(())", x);
    std::string all = reshape_sizes(c, *shape, "{}.shape[{}]");
    if (shape->size() == 1) all.pop_back();
    return fmt::format("{}.reshape({})", x, all);
  }
  if (const auto all = sizes_of_reshape(c)) {
    return fmt::format("{}.reshape({})", x, fmt::join(*all, ", "));
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

std::string tile(const Call& c) { return fmt::format("torch.tile({}, {})", c.in(0), c.ints(1)); }

std::string transpose(const Call& c) {
  const auto permutation = c.ints_attribute("perm");
  if (!permutation.empty()) {
    if (const auto axes = swapped(permutation)) {
      return fmt::format("{}.transpose({}, {})", c.in(0), axes->first, axes->second);
    }
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
