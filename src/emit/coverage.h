#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "emit/body.h"

namespace onward::emit {

/// Something about an operator that a framework's source can't say; exports that need it are
/// refused.
struct EmitGap {
  std::string_view op;
  std::string_view part;  // "its result Indices"; empty for the operator as a whole
  bool torch, keras;
  std::string_view reason;
};

/// All of them, in alphabetical order.
std::span<const EmitGap> emit_gaps();

/// Whether that framework's source can say the operator, but for the parts that are gaps.
bool can_emit(std::string_view op, Target target);

}  // namespace onward::emit
