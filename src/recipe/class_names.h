#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

/// Keeps names of classes in a model's metadata, in the place of others. `classes` is how many the
/// model has scores for, where that is known. Throws Error where the numbers differ or two names
/// are the same.
void keep_class_names(Model& model, const std::vector<std::string>& names,
                      std::optional<int64_t> classes);

/// Drops names of other classes; whether there were some.
bool drop_class_names(Model& model);

}  // namespace onward
