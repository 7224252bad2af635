#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/dtype.h"
#include "runtime/finite.h"

namespace onward {

/// Where the elements of a tensor lie; all of them are finite.
struct Range {
  double low, high;
};

inline constexpr Range kModerateRange = {.low = -kModerate, .high = kModerate};

/// The smallest range that is cheap to find: of a few elements their own, of many moderate or
/// moderate and not negative. Nothing where an element is not finite or not moderate.
std::optional<Range> find_range(DType dtype, std::span<const int64_t> dims,
                                const std::byte* elements);

/// Where the results of an operator lie, of its operands; nothing where one may not be finite.
using RangeRule = std::optional<Range> (*)(std::span<const Range> operands, bool same);

/// The rule of an elementwise operator, or null.
RangeRule find_range_rule(std::string_view op);

/// What a commit computes with, in terms of where the numbers lie.
struct CommitBounds {
  struct Result {
    RangeRule rule;  // null: nothing is known of it
    DType dtype;
    std::vector<size_t> operands;  // operands of the commit first, then results, by their order
  };

  size_t operands = 0;
  std::vector<Result> results;

  /// The ranges of all results, given those of the operands; nothing where one may not be finite.
  std::optional<std::vector<Range>> results_of(std::vector<Range> ranges) const;
};

}  // namespace onward
