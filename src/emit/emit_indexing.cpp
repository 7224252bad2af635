#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "emit/emitters.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

/// Few enough to be read as a list in the source.
constexpr size_t kMaxListed = 16;

/// The pads before and after each dimension where the model fixes them all, with their axes.
struct Pads {
  std::vector<int64_t> before, after;
};

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

/// A function of ours, which knows all modes, in both frameworks.
std::string padded(const Call& c) {
  std::string options;
  if (c.has(3)) options += ", axes=" + c.ints(3);
  const std::string mode = c.node().string_or("mode", "constant");
  if (mode != "constant") options += ", mode=" + python_string(mode);
  if (c.has(2)) options += ", value=" + c.operand(2);
  return fmt::format("{}({}, {}{})", c.function("pad"), c.in(0), c.ints(1), options);
}

/// A constant Pad whose value is a number.
bool is_plain_pad(const Call& c) {
  return c.node().string_or("mode", "constant") == "constant" && (!c.has(2) || c.is_number(2));
}

/// "1:3, :, ::2" where the model fixes all of it and all steps are positive: Python's rules for
/// slices are then the standard's.
std::optional<std::string> subscript(const Call& c) {
  const auto starts = c.known(1), ends = c.known(2);
  const auto axes = c.has(3) ? c.known(3) : std::vector<int64_t>{};
  const auto steps = c.has(4) ? c.known(4) : std::vector<int64_t>{};
  if (!starts || !ends || !axes || !steps) return std::nullopt;
  std::vector<std::string> parts;
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = c.has(3) ? axes->at(i) : static_cast<int64_t>(i);
    const int64_t step = c.has(4) ? steps->at(i) : 1;
    const auto& shape = c.value(0)->type.shape;
    if (axis < 0 && shape) axis += static_cast<int64_t>(shape->size());
    if (axis < 0 || step < 1) return std::nullopt;
    const auto at = static_cast<size_t>(axis);
    if (parts.size() <= at) parts.resize(at + 1, ":");
    const bool to_the_end = (*ends)[i] >= std::numeric_limits<int32_t>::max();
    parts[at] = fmt::format("{}:{}{}", (*starts)[i] == 0 ? "" : std::to_string((*starts)[i]),
                            to_the_end ? "" : std::to_string((*ends)[i]),
                            step == 1 ? "" : fmt::format(":{}", step));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string sliced(const Call& c) {
  if (const auto text = subscript(c)) {
    return text->empty() ? c.in(0) : fmt::format("{}[{}]", c.in(0), *text);
  }
  std::string options;
  if (c.has(3)) options += ", axes=" + c.ints(3);
  if (c.has(4)) options += ", steps=" + c.ints(4);
  return fmt::format("{}({}, {}, {}{})", c.function("take_slices"), c.in(0), c.ints(1), c.ints(2),
                     options);
}

/// The lengths of a Split where they are known: given, or from the size of the dimension.
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

}  // namespace

std::string torch_gather(const Call& c) {
  int64_t axis = c.int_attribute("axis", 0);
  if (axis < -1) axis += static_cast<int64_t>(c.rank(0));
  std::string index;
  const auto known = c.known(1);
  const auto& shape = c.value(1)->type.shape;
  if (known && shape && shape->empty()) {
    index = std::to_string(known->front());
  } else if (known && shape && shape->size() == 1 && known->size() <= kMaxListed) {
    index = fmt::format("[{}]", fmt::join(*known, ", "));
  } else {
    index = c.in(1);
  }
  std::string before = axis == -1 ? "..., " : "";
  for (int64_t i = 0; i < axis; ++i) before += ":, ";
  return fmt::format("{}[{}{}]", c.in(0), before, index);
}

std::string torch_one_hot(const Call& c) {
  return fmt::format("{}({}, {}, {}, axis={})", c.function("one_hot"), c.in(0), c.scalar(1),
                     c.in(2), c.int_attribute("axis", -1));
}

std::string keras_one_hot(const Call& c) { return torch_one_hot(c); }

std::string torch_pad(const Call& c) {
  const auto pads = known_pads(c);
  if (!pads || !is_plain_pad(c)) return padded(c);
  // From the last dimension to the first, as many as have any.
  std::vector<int64_t> order;
  size_t used = 0;
  for (size_t d = pads->before.size(); d-- > 0;) {
    order.push_back(pads->before[d]);
    order.push_back(pads->after[d]);
    if (pads->before[d] != 0 || pads->after[d] != 0) used = order.size();
  }
  order.resize(used);
  const std::string value = c.has(2) ? ", value=" + c.operand(2) : "";
  return fmt::format("F.pad({}, {}{})", c.in(0), python_tuple(order), value);
}

std::string keras_pad(const Call& c) {
  const auto pads = known_pads(c);
  const auto negative = [](int64_t n) { return n < 0; };
  if (!pads || !is_plain_pad(c) || std::ranges::any_of(pads->before, negative) ||
      std::ranges::any_of(pads->after, negative)) {
    return padded(c);
  }
  std::vector<std::string> widths;
  for (size_t d = 0; d < pads->before.size(); ++d) {
    widths.push_back(fmt::format("({}, {})", pads->before[d], pads->after[d]));
  }
  const std::string value = c.has(2) ? ", constant_values=" + c.operand(2) : "";
  return fmt::format("ops.pad({}, [{}]{})", c.in(0), fmt::join(widths, ", "), value);
}

std::string torch_slice(const Call& c) { return sliced(c); }
std::string keras_slice(const Call& c) { return sliced(c); }

std::string torch_split(const Call& c) {
  if (c.node().outputs().size() == 1) return c.in(0);
  const auto lengths = split_lengths(c);
  std::string how;
  if (lengths) {
    how = fmt::format("[{}]", fmt::join(*lengths, ", "));
  } else if (c.has(1)) {
    how = c.ints(1);
  } else {
    how = fmt::format("-(-{}.shape[{}] // {})", c.in(0), c.int_attribute("axis", 0),
                      c.node().outputs().size());
  }
  return fmt::format("torch.split({}, {}, dim={})", c.in(0), how, c.int_attribute("axis", 0));
}

std::string keras_split(const Call& c) {
  if (c.node().outputs().size() == 1) return c.in(0);
  const int64_t axis = c.int_attribute("axis", 0);
  const auto lengths = split_lengths(c);
  if (!lengths && c.has(1)) c.ints(1);  // refuses what is only known when it runs
  if (!lengths) throw Error("the size of the dimension that it splits is not known; declare it");
  const auto& shape = c.value(0)->type.shape;
  const auto at = shape ? axis + (axis < 0 ? static_cast<int64_t>(shape->size()) : 0) : 0;
  if (!shape || !c.dim(0, static_cast<size_t>(at))) {  // Keras would ask for the size
    return fmt::format("{}({}, {}, {})", c.function("split"), c.in(0), python_tuple(*lengths),
                       axis);
  }
  // Keras counts where parts begin.
  std::vector<int64_t> begins(lengths->size());
  std::partial_sum(lengths->begin(), lengths->end(), begins.begin());
  begins.pop_back();
  return fmt::format("ops.split({}, [{}], axis={})", c.in(0), fmt::join(begins, ", "), axis);
}

}  // namespace onward::emit
