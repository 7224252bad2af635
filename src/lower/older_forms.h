#pragma once

// The table behind opset.h: how a node becomes what an older version of its operator says. Versions
// that differ only in types and new attributes need no row: ir/lift_same.cpp lists them.

#include <span>
#include <string_view>

#include "ir/rewrite.h"

namespace onward {

/// Rewrites a node of version `from` of its operator into version `to`. Throws an Error before it
/// changes anything where that can't say the same.
struct OlderForm {
  std::string_view op;
  int from, to;
  void (*rule)(Rewrite&);
};

std::span<const OlderForm> older_forms();

/// An attribute's value that versions before `since` do not know, though they know the attribute.
struct NewValue {
  std::string_view op, attribute, value;
  int since;
};

std::span<const NewValue> new_values();

}  // namespace onward
