#pragma once

#include <map>
#include <string>

#include "ir/model.h"

namespace onward {

/// A model of its own with the same graphs; tensors share their bytes, and the file that the model
/// came from is kept, so that the copy too can be saved by patching it.
Model copy(const Model& model);

/// Gives initializers of the top-level graphs other values. Throws Error where there is no such
/// one, or its value is of another type or shape.
void set_initializers(Model& model, const std::map<std::string, Tensor, std::less<>>& tensors);

}  // namespace onward
