#pragma once

#include "ir/model.h"

namespace onward {

/// A model of its own with the same graphs; tensors share their bytes, and the file that the model
/// came from is kept, so that the copy too can be saved by patching it.
Model copy(const Model& model);

}  // namespace onward
