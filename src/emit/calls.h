#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace onward::emit {

class Body;
class Call;
struct Dialect;

/// Writes a node as one expression; of several results it gives a tuple. Throws Error where the
/// framework cannot express it exactly.
using Emitter = std::string (*)(const Call&);

/// How a framework expresses an operator: by a pattern, by a function, or not at all, with a
/// reason.
///   {0}       the first input, a tensor           {~0}   the same, or a number
///   {*}       all inputs, with commas between     {axis:-1}, {alpha:0.01}   attributes with their
///                                                 defaults, whole or with a point
///   {F}       a module, which is then imported    {np}, {nn}   where the dialect has functions
///   like
///                                                 NumPy's, and activations
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
  Cell cell;
  /// How many results the cell gives; a node that asks for more is refused.
  size_t results = 1;
  /// Why a node has no such call, though its operator has; empty where it has one. What is refused
  /// so is written in plainer operators.
  std::string_view (*refuses)(const Node&) = nullptr;
  /// Writes a node that takes more than an expression: one with graphs inside.
  void (*write)(const Node&, Body&) = nullptr;
};

/// Operators that a dialect without a row of its own has no call for, with the reason.
std::span<const CallRow> calls_of_none();

/// The row of a dialect: its own, one that it shares, or one with a reason; null where it has none.
const CallRow* find_call(const Dialect& dialect, std::string_view op);
const CallRow* find_call(const Dialect& dialect, const Node& node);

/// The expression for a node, in the form that the call has.
std::string emit_call(const CallRow& row, const Call& call);

/// A pattern with its fields, what stands between braces, filled in.
std::string filled_pattern(std::string_view pattern,
                           const std::function<std::string(std::string_view)>& fill);

}  // namespace onward::emit
