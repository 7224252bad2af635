#pragma once

#include <string>

#include "ir/model.h"

namespace onward {

/// The bytes of the model's file in the 2019 draft form, for those who still have a reader of it:
/// opset 9, the inference graph as a function, the mean squared error as operator MSE. Throws Error
/// for what the draft has no words for: anything but one training info without initialization, and
/// operators that were different then.
std::string to_draft_bytes(const Model& model);

}  // namespace onward
