#pragma once

#include "ir/model.h"

namespace onward {

/// A number that tells other models: other graphs, constants or bindings. The values of the state
/// do not count.
uint32_t model_fingerprint(const Model& model);

/// A checksum of the names and elements of all initializers.
uint32_t tensors_checksum(const Model& model);

}  // namespace onward
