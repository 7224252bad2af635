// Sequences as lists: what joins them, and what makes them of a tensor.

#include <fmt/format.h>

#include "emit/torch/calls.h"
#include "ir/rewrite.h"

namespace onward::emit::torch {

std::string concat_from_sequence(const Call& c) {
  const bool is_new = c.int_attribute("new_axis", 0) != 0;
  return fmt::format("torch.{}({}, dim={})", is_new ? "stack" : "cat", c.in(0),
                     c.int_attribute("axis", 0));
}

std::string split_to_sequence(const Call& c) {
  const int64_t axis = c.int_attribute("axis", 0);
  if (!c.has(1)) {
    const bool keeps = c.int_attribute("keepdims", 1) != 0;
    return fmt::format(fmt::runtime(keeps ? "list({}.split(1, dim={}))" : "list({}.unbind({}))"),
                       c.in(0), axis);
  }
  const auto dimensions = onward::rank(c.value(1));
  const std::string lengths = dimensions == 0 ? c.scalar(1) : c.ints(1);
  return fmt::format("list({}.split({}, dim={}))", c.in(0), lengths, axis);
}

}  // namespace onward::emit::torch
