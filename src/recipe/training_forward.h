#pragma once

#include "ir/clone.h"
#include "recipe/algorithm.h"

namespace onward {

/// The part of the forward pass that training runs in another form.
struct TrainingForward {
  ValueMap twins;               // values of the inference graph -> theirs in training
  std::vector<NodePair> nodes;  // in order
};

/// Where training differs from inference (BatchNormalization by the batch, Dropout), copies those
/// nodes and all that follows from them on the way to `targets` into the algorithm, and updates
/// running statistics. A training info can't change the inference graph, so it has its own forward.
TrainingForward write_training_forward(Algorithm& algorithm, const Graph& inference,
                                       std::span<Value* const> targets, const Recipe& recipe);

/// Whether what `targets` depend on has a BatchNormalization that training runs by the batch.
bool trains_batch_norm(const Graph& inference, std::span<Value* const> targets,
                       const Recipe& recipe);

/// What was decided about BatchNormalization and Dropout, a sentence each.
std::vector<std::string> training_forward_notes(const Graph& inference,
                                                std::span<Value* const> targets,
                                                const Recipe& recipe);

}  // namespace onward
