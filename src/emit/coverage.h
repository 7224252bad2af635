#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emit/body.h"

namespace onward::emit {

/// Something about an operator that a framework's source can't say, though it says the operator;
/// exports that need it are refused.
struct EmitGap {
  std::string_view op;
  std::string_view part;  // "its result Indices"
  bool torch, keras;
  std::string_view reason;
};

/// All of them, in alphabetical order.
std::span<const EmitGap> emit_gaps();

/// Whether that framework's source can say the operator, but for the parts that are gaps.
bool can_emit(std::string_view op, Target target);

/// Why the source of that framework cannot have a node; empty where it can.
std::string refused_by_framework(const Node& node, Target target);

}  // namespace onward::emit
