// Sequences as lists, whose lengths are known when the model is built.

#include <fmt/format.h>

#include "emit/keras/calls.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit::keras {

std::string concat_from_sequence(const Call& c) {
  const bool is_new = c.int_attribute("new_axis", 0) != 0;
  return fmt::format("ops.{}({}, axis={})", is_new ? "stack" : "concatenate", c.in(0),
                     c.int_attribute("axis", 0));
}

std::string split_to_sequence(const Call& c) {
  const int64_t axis = c.int_attribute("axis", 0), rank = static_cast<int64_t>(c.rank(0));
  const auto lengths = c.has(1) ? c.known(1) : std::nullopt;
  if (c.has(1) && !lengths) c.ints(1);  // which says why not
  if (c.has(1) && onward::rank(c.value(1)) != 0) {
    return fmt::format("{}({}, {}, {})", c.function("split"), c.in(0), python_tuple(*lengths),
                       axis);
  }
  const auto size = c.dim(0, static_cast<size_t>(axis < 0 ? axis + rank : axis));
  if (!size) {
    throw Error(
        fmt::format("how many parts it makes is not known; declare the size of dimension "
                    "{} of its input '{}'",
                    axis, c.value(0)->name()));
  }
  if (!c.has(1)) {
    const bool keeps = c.int_attribute("keepdims", 1) != 0;
    return fmt::format("ops.{}({}, {}, axis={})", keeps ? "split" : "unstack", c.in(0), *size,
                       axis);
  }
  std::vector<int64_t> parts;
  const int64_t each = lengths->front();
  if (each < 1) throw Error(fmt::format("its parts have {} elements", each));
  for (int64_t at = 0; at < *size; at += each) parts.push_back(std::min(each, *size - at));
  return fmt::format("{}({}, {}, {})", c.function("split"), c.in(0), python_tuple(parts), axis);
}

}  // namespace onward::emit::keras
