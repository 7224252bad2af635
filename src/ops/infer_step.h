#pragma once

#include "infer/infer.h"
#include "ir/model.h"

namespace onward {

/// Completes the types of all values of a step, those of internal operators included; throws an
/// Error that names what does not fit.
void infer_step_types(Model& step);

}  // namespace onward
