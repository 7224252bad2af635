#pragma once

#include "recipe/algorithm.h"

namespace onward {

/// Turns BatchNormalization nodes to training mode, and updates the running statistics. The node
/// has momentum 0, so that its outputs 1 and 2 are the batch's own mean and (biased) variance, and
/// plain operators with constants of the statistics' type do the averaging: the attribute is a
/// float32.
///   biased (the standard, Keras):  r_new = r momentum + batch (1 - momentum)
///   unbiased (PyTorch):            the same, with the batch's variance times n / (n - 1), where n
///                                  is the number of elements of a channel
class RunningStatistics {
 public:
  RunningStatistics(Algorithm& algorithm, const Recipe& recipe)
      : algorithm_(algorithm), recipe_(recipe), builder_(algorithm.builder("statistics/")) {}

  /// `twin` is the algorithm's copy of `node`, a BatchNormalization in inference mode.
  void update_from(const Node& node, Node& twin);
  /// Writes the updates: a layer that runs twice in a step updates its statistics twice, in order.
  void finish();

 private:
  void average(Value* running, Expr batch, double momentum);
  Expr unbiased(const Node& node, Expr variance);

  Algorithm& algorithm_;
  const Recipe& recipe_;
  Builder builder_;
  struct Running {
    Value* first;
    Value* last;
  };
  std::vector<Running> running_;  // in order of first use
};

/// Whether a node's statistics are still those from before any training: mean 0, variance 1.
bool has_first_statistics(const Node& node);

}  // namespace onward
