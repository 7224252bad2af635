#include "ops/range.h"

#include <algorithm>
#include <cmath>

namespace onward::ranges {
namespace {

using Ranges = std::span<const Range>;
using Found = std::optional<Range>;

Range around(std::initializer_list<double> numbers) {
  return {std::min(numbers), std::max(numbers)};
}

bool holds_zero(const Range& x) { return x.low <= 0 && x.high >= 0; }

Range square(const Range& x) {
  const Range ends = around({x.low * x.low, x.high * x.high});
  return {holds_zero(x) ? 0 : ends.low, ends.high};
}

Range product(const Range& a, const Range& b) {
  return around({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}

/// The smallest range around all.
Range hull(Ranges all) {
  Range range = all[0];
  for (const Range& each : all) {
    range = {std::min(range.low, each.low), std::max(range.high, each.high)};
  }
  return range;
}

}  // namespace

Found same_range(Ranges x, bool) { return x[0]; }
Found hull_rule(Ranges x, bool) { return hull(x); }
Found branches(Ranges x, bool) { return hull(x.subspan(1)); }
Found truth(Ranges, bool) { return Range{0, 1}; }
Found sign_like(Ranges, bool) { return Range{-1, 1}; }
Found neg(Ranges x, bool) { return Range{-x[0].high, -x[0].low}; }
Found sub(Ranges x, bool) { return Range{x[0].low - x[1].high, x[0].high - x[1].low}; }
Found mul(Ranges x, bool same) { return same ? square(x[0]) : product(x[0], x[1]); }

Found add(Ranges all, bool) {
  Range sum = {0, 0};
  for (const Range& each : all) sum = {sum.low + each.low, sum.high + each.high};
  return sum;
}

Found exponential(Ranges x, bool) { return Range{std::exp(x[0].low), std::exp(x[0].high)}; }

Found absolute(Ranges x, bool) {
  const Range ends = around({std::fabs(x[0].low), std::fabs(x[0].high)});
  return Range{holds_zero(x[0]) ? 0 : ends.low, ends.high};
}

Found reciprocal(Ranges x, bool) {
  if (holds_zero(x[0])) return std::nullopt;
  return Range{1 / x[0].high, 1 / x[0].low};
}

Found div(Ranges x, bool) {
  if (holds_zero(x[1])) return std::nullopt;
  return product(x[0], {1 / x[1].high, 1 / x[1].low});
}

Found root(Ranges x, bool) {
  if (x[0].low < 0) return std::nullopt;
  return Range{std::sqrt(x[0].low), std::sqrt(x[0].high)};
}

Found logarithm(Ranges x, bool) {
  if (x[0].low <= 0) return std::nullopt;
  return Range{std::log(x[0].low), std::log(x[0].high)};
}

/// Rises or falls along either operand, so that the extremes are at the corners.
Found power(Ranges x, bool) {
  if (x[1].low == 2 && x[1].high == 2) return square(x[0]);
  if (x[0].low < 0) return std::nullopt;
  return around({std::pow(x[0].low, x[1].low), std::pow(x[0].low, x[1].high),
                 std::pow(x[0].high, x[1].low), std::pow(x[0].high, x[1].high)});
}

Found largest(Ranges all, bool) {
  Range range = all[0];
  for (const Range& each : all) {
    range = {std::max(range.low, each.low), std::max(range.high, each.high)};
  }
  return range;
}

Found smallest(Ranges all, bool) {
  Range range = all[0];
  for (const Range& each : all) {
    range = {std::min(range.low, each.low), std::min(range.high, each.high)};
  }
  return range;
}

Found relu(Ranges x, bool) { return Range{std::max(x[0].low, 0.0), std::max(x[0].high, 0.0)}; }

}  // namespace onward::ranges
