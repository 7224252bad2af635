#pragma once

#include "passes/passes.h"

namespace onward {

/// Gives Reshape a constant shape wherever all dimensions but one are known.
void settle_shapes(PassContext& c);

/// Gives Conv and pools that are padded to cover their input (SAME_UPPER, SAME_LOWER) the padding
/// itself: ONNX Runtime takes a negative one where strides are larger than windows, which the
/// standard does not, and forgets dilations. Throws Error where sizes that are not known decide.
void settle_windows(PassContext& c);

}  // namespace onward
