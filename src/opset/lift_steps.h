#pragma once

// The table behind lift.h: how each version of an operator becomes the next one. A family of
// operators has a file of its own, lift_<family>.cpp, with its rules and its part of the table.

#include <span>
#include <string_view>
#include <vector>

#include "ir/rewrite.h"

namespace onward {

/// Rewrites a node of one version of its operator into the next; a rule that goes further sets the
/// node's opset itself. The node has the inputs and attributes that its version requires, of the
/// right kinds. Throws an Error before it changes anything where the next version can't say the
/// same; the caller adds operator and version.
using LiftRule = void (*)(Rewrite&);

/// For versions that differ only in the types they allow, in new attributes or inputs whose default
/// is what was there before, or in words.
void same(Rewrite&);

/// Up to opset 5 operators could say which inputs they overwrite; this never changed a result.
void drop_consumed_inputs(Rewrite& rewrite);

/// One row of the table, from one since_version of an operator to the next.
struct LiftStep {
  std::string_view op;
  int from;
  int to;
  LiftRule rule;
  bool reads_types = false;       // the rule looks at types: they are inferred before
  std::string_view becomes = {};  // the operator that replaces it, where its name changes
  std::string_view domain = {};
};

/// Versions of an operator of which each is `same` as the one before.
struct SameForms {
  std::string_view op;
  std::vector<int> versions;
  std::string_view domain = {};
};

/// A version of an operator that has no rule to the next, and why: "has been withdrawn: ...".
struct LiftGap {
  std::string_view op;
  int from;
  std::string_view reason;
  std::string_view domain = {};
};

std::span<const LiftStep> elementwise_lift_steps();
std::span<const LiftStep> conversion_lift_steps();
std::span<const LiftStep> shape_lift_steps();
std::span<const LiftStep> reduction_lift_steps();
std::span<const LiftStep> layer_lift_steps();
std::span<const LiftStep> recurrent_lift_steps();
std::span<const LiftStep> ml_lift_steps();
std::span<const SameForms> same_forms();
std::span<const LiftGap> lift_gaps();

}  // namespace onward
