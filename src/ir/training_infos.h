#pragma once

#include <optional>
#include <vector>

#include "ir/model.h"

namespace onward {

/// Throws Error where the model has no training info of that number.
void require_info(const Model& model, size_t info);

/// The training info that is asked for, or where none is, all of them in file order.
std::vector<size_t> chosen_infos(const Model& model, std::optional<size_t> info);

}  // namespace onward
