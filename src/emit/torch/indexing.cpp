#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/shared_calls.h"
#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

/// Few enough to be read as a list in the source.
constexpr size_t kMaxListed = 16;

}  // namespace

std::string gather(const Call& c) {
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

std::string pad(const Call& c) {
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
  return fmt::format("{}.pad({}, {}{})", c.module("F"), c.in(0), python_tuple(order), value);
}

std::string split(const Call& c) {
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

}  // namespace onward::emit::torch
