#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "emit/node_facts.h"
#include "emit/numpy/calls.h"
#include "emit/shared_calls.h"
#include "onward/error.h"

namespace onward::emit::numpy {

std::string pad(const Call& c) {
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
  return fmt::format("{}.pad({}, [{}]{})", c.np(), c.in(0), fmt::join(widths, ", "), value);
}

std::string split(const Call& c) {
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
  // It counts where parts begin.
  std::vector<int64_t> begins(lengths->size());
  std::partial_sum(lengths->begin(), lengths->end(), begins.begin());
  begins.pop_back();
  return fmt::format("{}.split({}, [{}], axis={})", c.np(), c.in(0), fmt::join(begins, ", "), axis);
}

}  // namespace onward::emit::numpy
