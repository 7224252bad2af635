#pragma once

#include "passes/passes.h"

namespace onward {

/// Gives Reshape a constant shape wherever all dimensions but one are known.
void settle_shapes(PassContext& c);

}  // namespace onward
