#pragma once

#include <filesystem>

#include "ir/model.h"
#include "ir/problems.h"

namespace onward {

/// Reads a model and gathers everything that is wrong with it: structure, operators and attributes,
/// types and shapes, and the training part. Throws Error only where the file is no model at all.
Problems check_file(const std::filesystem::path& file);

/// Checks a model that was loaded with `problems` given; completes its types on the way.
void check(Model& model, Problems& problems);

/// The IR version that first had an element type; older readers can't know it.
int64_t first_ir_version(DType dtype);

/// The rules of the standard's training part, for a model whose types are inferred.
void check_training(const Model& model, Problems& problems);

}  // namespace onward
