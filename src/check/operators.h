#pragma once

#include "ir/model.h"
#include "ir/problems.h"

namespace onward {

/// Checks each node against the standard's schema of its operator: that there is one, and the
/// number of inputs and outputs and the attributes that it takes.
void check_operators(const Model& model, Problems& problems);

}  // namespace onward
