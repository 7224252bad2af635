#pragma once

#include <map>
#include <string>

#include "ir/model.h"

namespace onward {

/// A number that tells other models: other graphs, constants or bindings. The values of the state
/// do not count.
uint32_t model_fingerprint(const Model& model);

/// The state that steps hand on as it is, such as a learning rate, with a checksum of its elements:
/// settings, though they are state.
std::map<std::string, uint32_t> kept_state(const Model& model);

/// A checksum of the names and elements of all initializers.
uint32_t tensors_checksum(const Model& model);

}  // namespace onward
