#pragma once

#include "ir/model.h"

namespace onward {

/// Lets a Loop that is given no condition go on whatever its body says, as the standard has it:
/// ONNX Runtime would end it. Throws Error where the body also computes with what it said.
void settle_conditions(Model& model);

}  // namespace onward
