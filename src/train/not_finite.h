#pragma once

#include <optional>
#include <span>
#include <string>

#include "eval/subgraph.h"
#include "runtime/state.h"

namespace onward {

/// A step that was refused, and the state before it.
struct RefusedStep {
  const Model& model;
  size_t info;
  std::span<const TensorMap> micro_batches;
  const State& state;
  eval::RandomKey random;
};

/// Runs a refused step once more, node by node, for the node that made a value not finite out of
/// numbers that were: one line with the node, what it read, and what to do. `name` is the loss or
/// the state tensor that was refused. Nothing where data or state were not finite before, or where
/// it takes more than half a minute. Changes nothing, and never throws.
std::optional<std::string> find_not_finite_node(const RefusedStep& step, const std::string& name);

}  // namespace onward
