#pragma once

#include "ir/model.h"

namespace onward {

/// Says every internal operator and every optimizer in operators of the standard, and completes all
/// types. Throws an Error that names what can't be said.
void expand_to_standard(Model& step);

}  // namespace onward
