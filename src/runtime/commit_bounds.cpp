#include "runtime/commit_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace onward {
namespace {

/// With room for what rounding adds.
bool is_within(const Range& range, DType dtype) {
  const double most = dtype == DType::f64 ? std::numeric_limits<double>::max() / 2
                                          : double{std::numeric_limits<float>::max()} / 2;
  return range.low >= -most && range.high <= most;  // false for a NaN
}

/// Integers are divided towards zero, and nothing is known of those that overflow.
std::optional<Range> of_integers(const Range& range, DType dtype) {
  const double most = std::ldexp(1.0, bits(dtype) - 2);
  if (!(range.low >= -most && range.high <= most)) return std::nullopt;
  return Range{std::min(range.low, std::trunc(range.low)),
               std::max(range.high, std::trunc(range.high))};
}

}  // namespace

std::optional<std::vector<Range>> CommitBounds::results_of(std::vector<Range> ranges) const {
  std::vector<Range> of_node;
  std::vector<size_t> multiples;  // of which value each is a multiple that is not negative
  for (size_t i = 0; i < ranges.size(); ++i) multiples.push_back(i);
  for (const Result& result : results) {
    if (!result.rule) return std::nullopt;
    of_node.clear();
    for (const size_t operand : result.operands) of_node.push_back(ranges[operand]);
    const bool same = of_node.size() == 2 && result.operands[0] == result.operands[1];
    std::optional<Range> range = result.rule(of_node, same);
    multiples.push_back(ranges.size());
    if (range && result.rule == ranges::mul) {
      const size_t first = result.operands[0], second = result.operands[1];
      // (c g) g is a square, too.
      if (multiples[first] == multiples[second]) range->low = std::max(range->low, 0.0);
      if (of_node[0].low >= 0) multiples.back() = multiples[second];
      if (of_node[1].low >= 0) multiples.back() = multiples[first];
    }
    if (range && is_integer(result.dtype)) range = of_integers(*range, result.dtype);
    if (!range || (is_float(result.dtype) && !is_within(*range, result.dtype))) return std::nullopt;
    ranges.push_back(*range);
  }
  ranges.erase(ranges.begin(), ranges.begin() + static_cast<int64_t>(operands));
  return ranges;
}

}  // namespace onward
