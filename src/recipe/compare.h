#pragma once

#include <optional>

#include "ir/clone.h"

namespace onward {

/// A training info of one model, and one of a copy of that model.
struct TrainingPair {
  const TrainingInfo& ours;
  const TrainingInfo& other;
  /// The inference graph's values, ours -> the copy's.
  ValueMap around;
};

/// Matches two training infos node by node: the same operators, attributes, wiring, types,
/// constants and bindings, whatever the names. State may differ in its values. Gives where each of
/// our values is in the other one, or nothing where they differ.
std::optional<ValueMap> match(const TrainingPair& pair);

}  // namespace onward
