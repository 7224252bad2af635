#pragma once

#include <optional>
#include <span>

namespace onward {

/// Where the elements of a tensor lie; all of them are finite.
struct Range {
  double low, high;
};

/// Where the results of an elementwise operator lie, given its operands; nothing where one may not
/// be finite. `same`: both operands are one value.
using RangeFunction = std::optional<Range>(std::span<const Range> operands, bool same);
using RangeRule = RangeFunction*;

// For the rows of families; operators that share a rule share a name here.
namespace ranges {

RangeFunction absolute;
RangeFunction add;
RangeFunction branches;  // of a condition and two values
RangeFunction div;
RangeFunction exponential;
RangeFunction hull_rule;  // somewhere between all operands
RangeFunction largest;
RangeFunction logarithm;
RangeFunction mul;
RangeFunction neg;
RangeFunction power;
RangeFunction reciprocal;
RangeFunction relu;
RangeFunction root;
RangeFunction same_range;
RangeFunction sign_like;  // from -1 to 1
RangeFunction smallest;
RangeFunction sub;
RangeFunction truth;  // from 0 to 1

}  // namespace ranges

}  // namespace onward
