#pragma once

#include <filesystem>
#include <vector>

#include "ir/model.h"

namespace onward::emit {

/// What was brought back, for a message.
struct Taken {
  size_t weights = 0;  // tensors
  size_t state = 0;    // of the optimizer
};

/// Puts the tensors of an exported folder, as the framework left them, back into the model that was
/// exported. Throws an Error that names everything that does not fit: tensors that are missing or
/// unknown, of another type or shape, two files that were not saved together.
Taken take(const std::filesystem::path& folder, Model& model);

}  // namespace onward::emit
