#pragma once

#include <span>
#include <string>
#include <string_view>

#include "emit/call.h"

namespace onward::emit {

/// Says a node as one expression; of several results it gives a tuple. Throws Error where that
/// framework can't say it exactly.
using Emitter = std::string (*)(const Call&);

/// How one framework says an operator: by a pattern, by a function, or not at all, with a reason.
///   {0}       the first input, a tensor           {~0}   the same, or a number
///   {*}       all inputs, with commas between     {axis:-1}, {alpha:0.01}   attributes with their
///                                                 defaults, whole or with a point
struct Cell {
  constexpr Cell(const char* text) : pattern(text) {}      // NOLINT: a table of texts and functions
  constexpr Cell(Emitter function) : emitter(function) {}  // NOLINT
  constexpr Cell(std::string_view text, std::string_view gap_reason)
      : pattern(text), gap(gap_reason) {}

  std::string_view pattern = {};
  Emitter emitter = nullptr;
  std::string_view gap = {};
};

struct CallRow {
  std::string_view op;
  Cell torch;
  Cell keras;
  /// How many results the cells give; a node that asks for more is refused.
  size_t results = 1;

  const Cell& cell(Target target) const { return target == Target::torch ? torch : keras; }
};

std::span<const CallRow> calls();
const CallRow* find_call(const Node& node);

/// The expression for a node, in the form that the call has.
std::string emit_call(const CallRow& row, const Call& call);

}  // namespace onward::emit
