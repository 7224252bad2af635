#include "runtime/commit_bounds.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "ir/tensor.h"
#include "runtime/parallel.h"

namespace onward {
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

template <double (*Function)(double)>
Found rising(Ranges x, bool) {
  return Range{Function(x[0].low), Function(x[0].high)};
}

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

struct NamedRule {
  std::string_view op;
  RangeRule rule;
};

constexpr NamedRule kRules[] = {
    {"Abs", absolute},   {"Add", add},
    {"And", truth},      {"Cast", same_range},
    {"Clip", hull_rule}, {"Div", div},
    {"Equal", truth},    {"Exp", rising<std::exp>},
    {"Greater", truth},  {"Identity", same_range},
    {"Less", truth},     {"Log", logarithm},
    {"Max", largest},    {"Min", smallest},
    {"Mul", mul},        {"Neg", neg},
    {"Not", truth},      {"Or", truth},
    {"Pow", power},      {"Reciprocal", reciprocal},
    {"Relu", relu},      {"Sigmoid", truth},
    {"Sign", sign_like}, {"Sqrt", root},
    {"Sub", sub},        {"Sum", add},
    {"Tanh", sign_like}, {"Where", branches},
};

/// With room for what rounding adds.
bool is_within(const Range& range, DType dtype) {
  const double most = dtype == DType::f64 ? std::numeric_limits<double>::max() / 2
                                          : double{std::numeric_limits<float>::max()} / 2;
  return range.low >= -most && range.high <= most;  // false for a NaN
}

template <typename T>
bool has_negative(const std::byte* elements, int64_t count) {
  const T* x = reinterpret_cast<const T*>(elements);
  std::atomic<bool> found = false;
  parallel_for(count, 0.1, [&](int64_t first, int64_t last) {
    bool any = false;
    for (int64_t i = first; i < last; ++i) any |= x[i] < 0;
    if (any) found = true;
  });
  return found;
}

}  // namespace

std::optional<Range> find_range(DType dtype, std::span<const int64_t> dims,
                                const std::byte* elements) {
  if (!is_float(dtype)) return Range{-1e19, 1e19};
  if (!is_tame(dtype, dims, elements)) return std::nullopt;
  const int64_t count = checked_element_count(dims);
  constexpr int64_t kFew = 16;
  if (count > kFew) {
    const bool negative = dtype == DType::f64
                              ? has_negative<double>(elements, count)
                              : dtype != DType::f32 || has_negative<float>(elements, count);
    return Range{negative ? -kModerate : 0, kModerate};
  }
  const auto bytes = static_cast<size_t>(*packed_bytes(dtype, count));
  const Tensor tensor = Tensor::view(dtype, {dims.begin(), dims.end()}, {elements, bytes}, nullptr);
  if (count == 0) return Range{0, 0};
  Range range = {tensor.number(0), tensor.number(0)};
  for (int64_t i = 1; i < count; ++i) {
    range = {std::min(range.low, tensor.number(i)), std::max(range.high, tensor.number(i))};
  }
  return range;
}

RangeRule find_range_rule(std::string_view op) {
  const auto* found = std::ranges::find(kRules, op, &NamedRule::op);
  return found == std::end(kRules) ? nullptr : found->rule;
}

std::optional<std::vector<Range>> CommitBounds::results_of(std::vector<Range> ranges) const {
  std::vector<Range> of_node;
  for (const Result& result : results) {
    if (!result.rule) return std::nullopt;
    of_node.clear();
    for (const size_t operand : result.operands) of_node.push_back(ranges[operand]);
    const bool same = of_node.size() == 2 && result.operands[0] == result.operands[1];
    const std::optional<Range> range = result.rule(of_node, same);
    if (!range || (is_float(result.dtype) && !is_within(*range, result.dtype))) return std::nullopt;
    ranges.push_back(*range);
  }
  ranges.erase(ranges.begin(), ranges.begin() + static_cast<int64_t>(operands));
  return ranges;
}

}  // namespace onward
