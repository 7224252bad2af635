#pragma once

#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

/// Why Onward itself can't train a model by one of its training infos: operators that have no
/// gradient or that nothing computes, all of a kind in one sentence. Empty where it can.
std::vector<std::string> training_gaps(const Model& model, size_t info);

}  // namespace onward
