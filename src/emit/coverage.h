#pragma once

#include <string>
#include <string_view>

#include "emit/dialect.h"

namespace onward::emit {

/// What most frameworks do not express of an operator, in alphabetical order.
std::span<const EmitGap> gaps_of_most();

/// Whether a dialect has a call for the operator, but for the parts that are gaps.
bool can_emit(std::string_view op, const Dialect& dialect);

/// Why it has none, where its tables give a reason; else empty.
std::string_view why_not(std::string_view op, const Dialect& dialect);

/// Why source of that dialect cannot have a node; empty where it can.
std::string refused_by_framework(const Node& node, const Dialect& dialect);

}  // namespace onward::emit
