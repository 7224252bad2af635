#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/dtype.h"
#include "ops/range.h"
#include "runtime/finite.h"

namespace onward {

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
