#include "emit/node_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "onward/error.h"

namespace onward::emit {

bool is_whole(DType dtype) { return is_integer(dtype) || dtype == DType::boolean; }

ReducedAxes reduced_axes(const Call& c) {
  const bool none_means_all = c.int_attribute("noop_with_empty_axes", 0) == 0;
  const auto axes = c.has(1) ? c.known(1) : std::vector<int64_t>{};
  if (!axes) {
    const auto count = c.dim(1, 0);
    if (!none_means_all && !count) throw Error("whether it has axes is only known when it runs");
    return {.text = fmt::format("tuple({})", c.ints(1))};
  }
  if (axes->empty()) return {.none = !none_means_all, .all = none_means_all};
  std::vector<int64_t> here;
  for (const int64_t axis : *axes) here.push_back(c.axis(axis));
  return {.text = here.size() == 1 ? std::to_string(here[0]) : python_tuple(here)};
}

void refuse_integers(const Call& c) {
  if (is_float(c.dtype(0))) return;
  throw Error(fmt::format("the mean of {} would be rounded differently", name(c.dtype(0))));
}

int64_t first_axis(const Call& c) {
  const int64_t axis = c.int_attribute("axis", -1);
  return axis < 0 ? axis + static_cast<int64_t>(c.rank(0)) : axis;
}

bool are_declared(const Call& c, std::span<const int64_t> axes) {
  const auto& shape = c.value(0)->type.shape;
  return shape && std::ranges::all_of(axes, [&](int64_t axis) {
           const auto at = static_cast<size_t>(axis < 0 ? axis + std::ssize(*shape) : axis);
           return (*shape)[at].value.has_value();
         });
}

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

std::string shape_part(const Call& c) {
  const auto* end = c.node().get<int64_t>("end");
  const int64_t start = c.int_attribute("start", 0);
  if (!end && start == 0) return "";
  return fmt::format("[{}:{}]", start == 0 ? "" : std::to_string(start),
                     end ? std::to_string(*end) : "");
}

std::string reshape_sizes(const Call& c, const std::vector<int64_t>& shape,
                          std::string_view size_pattern) {
  const bool zero_copies = c.int_attribute("allowzero", 0) == 0;
  std::vector<std::string> sizes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto known = shape[i] == 0 && zero_copies ? c.dim(0, i) : shape[i];
    sizes.push_back(known ? std::to_string(*known)
                          : fmt::format(fmt::runtime(size_pattern), c.in(0), i));
  }
  return fmt::format("{}{}", fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

bool keeps_size(const Call& c, size_t axis) {
  const auto &from = c.value(0)->type.shape, &to = c.node().output(0)->type.shape;
  if (!from || !to || axis >= from->size() || axis >= to->size()) return false;
  return (*from)[axis] == (*to)[axis] && ((*from)[axis].value || !(*from)[axis].symbol.empty());
}

std::optional<std::vector<std::string>> sizes_of_reshape(const Call& c) {
  auto sizes = c.size_texts(1);
  if (!sizes || sizes->empty()) return std::nullopt;
  if (c.int_attribute("allowzero", 0) != 0) return sizes;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const bool is_number = (*sizes)[i].find_first_not_of("-0123456789") == std::string::npos;
    if (!(is_number && (*sizes)[i] != "0") && !keeps_size(c, i)) return std::nullopt;
  }
  return sizes;
}

std::string counted_size(const Call& c) {
  const auto start = c.known(0), step = c.known(2);
  if (c.result_dtype() != DType::i64 || start != std::vector<int64_t>{0} ||
      step != std::vector<int64_t>{1}) {
    throw Error("a range is exported from 0 on in steps of 1, and no other yet");
  }
  const auto sizes = c.size_texts(1);
  return sizes ? sizes->at(0) : c.scalar(1);
}

std::string repeated_element(const Call& c) {
  const auto* given = c.node().get<Tensor>("value");
  return given ? python_element(*given, 0) : "0.0";
}

std::optional<Pads> known_pads(const Call& c) {
  const auto pads = c.known(1);
  const auto axes = c.has(3) ? c.known(3) : std::vector<int64_t>{};
  const auto& shape = c.value(0)->type.shape;
  if (!pads || !axes || !shape) return std::nullopt;
  const size_t rank = shape->size();
  Pads result{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  const size_t count = pads->size() / 2;
  for (size_t i = 0; i < count; ++i) {
    int64_t axis = c.has(3) ? axes->at(i) : static_cast<int64_t>(i);
    if (axis < 0) axis += static_cast<int64_t>(rank);
    result.before.at(static_cast<size_t>(axis)) = (*pads)[i];
    result.after.at(static_cast<size_t>(axis)) = (*pads)[i + count];
  }
  return result;
}

bool is_plain_pad(const Call& c) {
  return c.node().string_or("mode", "constant") == "constant" && (!c.has(2) || c.is_number(2));
}

std::optional<std::string> subscript(const Call& c) {
  const auto starts = c.known(1);
  std::vector<std::string> ends;
  if (const auto known = c.known(2)) {
    for (const int64_t end : *known) {
      const bool to_the_end = end >= std::numeric_limits<int32_t>::max();
      ends.push_back(to_the_end ? "" : std::to_string(end));
    }
  } else if (const auto sizes = c.size_texts(2)) {
    ends = *sizes;
  } else {
    return std::nullopt;
  }
  const auto axes = c.has(3) ? c.known(3) : std::vector<int64_t>{};
  const auto steps = c.has(4) ? c.known(4) : std::vector<int64_t>{};
  if (!starts || !axes || !steps) return std::nullopt;
  std::vector<std::string> parts;
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = c.has(3) ? axes->at(i) : static_cast<int64_t>(i);
    const int64_t step = c.has(4) ? steps->at(i) : 1;
    const auto& shape = c.value(0)->type.shape;
    if (axis < 0 && shape) axis += static_cast<int64_t>(shape->size());
    if (axis < 0 || step < 1) return std::nullopt;
    const auto at = static_cast<size_t>(axis);
    if ((*starts)[i] == 0 && ends[i].empty() && step == 1) continue;
    if (parts.size() <= at) parts.resize(at + 1, ":");
    parts[at] = fmt::format("{}:{}{}", (*starts)[i] == 0 ? "" : std::to_string((*starts)[i]),
                            ends[i], step == 1 ? "" : fmt::format(":{}", step));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::optional<std::vector<int64_t>> split_lengths(const Call& c) {
  if (c.has(1)) return c.known(1);
  const auto& shape = c.value(0)->type.shape;
  if (!shape) return std::nullopt;
  int64_t axis = c.int_attribute("axis", 0);
  if (axis < 0) axis += static_cast<int64_t>(shape->size());
  const auto size = c.dim(0, static_cast<size_t>(axis));
  if (!size) return std::nullopt;
  const auto count = static_cast<int64_t>(c.node().outputs().size());
  const int64_t part = (*size + count - 1) / count;
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i) {
    lengths.push_back(std::max<int64_t>(0, std::min(part, *size - i * part)));
  }
  return lengths;
}

DropoutFacts dropout_facts(const Call& c) {
  DropoutFacts facts;
  if (c.has(1)) facts.ratio = c.scalar(1);
  if (c.has(2)) facts.training = c.scalar(2);
  return facts;
}

bool in_training(const Call& c) {
  if (c.int_attribute("training_mode", 0) != 0) return true;
  if (c.node().outputs().size() > 1) throw Error("it asks for statistics outside of training");
  return false;
}

}  // namespace onward::emit
