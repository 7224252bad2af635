#pragma once

#include "ir/clone.h"

namespace onward {

/// A copy of a model without its training infos; the bytes of tensors are shared. `map` says where
/// each value of the inference graph went.
struct InferencePart {
  Model model;
  ValueMap map;
};

InferencePart inference_part(const Model& model);

}  // namespace onward
