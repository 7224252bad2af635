#pragma once

#include "tests/ops/case.h"

namespace onward {

/// The case with dimensions of size zero: one dimension of one input; two of one size in two
/// inputs, which an operator may want to be the same; and all of one size. Many of them do not fit
/// the operator.
std::vector<Case> emptied_cases(const Case& tested);

}  // namespace onward
