#pragma once

#include <string_view>

#include "ir/graph.h"

namespace onward {

/// Why an operator gives infinity or NaN of finite numbers, and what to do about it.
std::string_view finite_advice(const Node& node);

}  // namespace onward
