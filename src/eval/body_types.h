#pragma once

#include "eval/kernel.h"

namespace onward::eval {

/// The types of what a body would give for arguments of these types, as far as they can be told
/// without running it. Throws Error where it would fail.
std::vector<Type> result_types(const ValueContext& c, const Graph& body,
                               const std::vector<Type>& arguments);

}  // namespace onward::eval
