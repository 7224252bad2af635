#include <fmt/format.h>

#include <algorithm>

#include "emit/keras/calls.h"
#include "emit/node_facts.h"
#include "emit/numpy/calls.h"

namespace onward::emit::keras {
namespace {

/// Few enough to be read as a list in the source.
constexpr size_t kMaxListed = 16;

/// Sizes of which one at most is open: that is what is left, which the function finds itself.
std::string reshaped(const std::string& x, const Shape& shape) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : shape) sizes.push_back(dim.value.value_or(-1));
  return fmt::format("ops.reshape({}, {})", x, python_tuple(sizes));
}

/// Whether all sizes are known, or a single one is open that follows from the others.
bool is_nearly_known(const Shape& shape) {
  const auto is_open = [](const Dim& dim) { return !dim.value; };
  const auto is_zero = [](const Dim& dim) { return dim.value == 0; };
  const auto open = std::ranges::count_if(shape, is_open);
  return open == 0 || (open == 1 && std::ranges::none_of(shape, is_zero));
}

/// Images have their channels last: what is made of their places stands before the channels.
std::string reshaped_image(const Call& c) {
  const Shape& to = *c.node().output(0)->type.shape;
  Shape turned;
  for (const int64_t axis : to_channels_last(to.size())) {
    turned.push_back(to[static_cast<size_t>(axis)]);
  }
  return reshaped(c.in(0), turned);
}

}  // namespace

// Both shapes are broadcast to each other.
std::string expand(const Call& c) {
  auto sizes = c.known(1) ? std::nullopt : c.size_texts(1);
  const auto& shape = c.value(0)->type.shape;
  if (!sizes || !shape || sizes->size() < shape->size()) return numpy::expand(c);
  const size_t more = sizes->size() - shape->size();
  for (size_t i = 0; i < shape->size(); ++i) {
    const auto own = (*shape)[i].value;
    std::string& size = (*sizes)[i + more];
    if (own && size == "1") size = std::to_string(*own);
    if (own != 1 && !(own && size == std::to_string(*own))) return numpy::expand(c);
  }
  return fmt::format("ops.broadcast_to({}, {})", c.in(0), python_tuple(*sizes));
}

std::string flatten(const Call& c) {
  if (c.form() == Form::channels_last) return reshaped_image(c);
  return numpy::flatten(c);
}

std::string gather(const Call& c) {
  const int64_t axis = c.axis(c.int_attribute("axis", 0));
  const auto known = c.known(1);
  const auto& shape = c.value(1)->type.shape;
  if (known && shape && shape->empty() && axis >= 0) {
    std::string before;
    for (int64_t i = 0; i < axis; ++i) before += ":, ";
    return fmt::format("{}[{}{}]", c.in(0), before, known->front());
  }
  const bool is_list = known && shape && shape->size() == 1 && known->size() <= kMaxListed;
  const std::string indices = is_list ? fmt::format("[{}]", fmt::join(*known, ", ")) : c.plain(1);
  return fmt::format("ops.take({}, {}, axis={})", c.in(0), indices, axis);
}

std::string range(const Call& c) {
  return fmt::format("ops.arange({}, dtype=\"int64\")", counted_size(c));
}

std::string reshape(const Call& c) {
  if (c.form() == Form::channels_last) return reshaped_image(c);
  const auto& to = c.node().output(0)->type.shape;
  if (to && is_nearly_known(*to)) return reshaped(c.in(0), *to);
  const auto sizes = c.known(1) ? std::nullopt : sizes_of_reshape(c);
  if (sizes) return fmt::format("ops.reshape({}, {})", c.in(0), python_tuple(*sizes));
  return numpy::reshape(c);
}

std::string shape(const Call& c) {
  return fmt::format("ops.cast(ops.convert_to_tensor(ops.shape({}){}), \"int64\")", c.in(0),
                     shape_part(c));
}

}  // namespace onward::emit::keras
