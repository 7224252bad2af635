#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/metrics.h"

namespace onward {

/// Where a training stands, beside the tensors of its state: all that it takes to go on bit for
/// bit.
struct LoopState {
  // What may not change between a checkpoint and going on from it.
  uint64_t seed = 0;
  int64_t batch = 0;       // examples of a micro-batch
  int64_t accumulate = 1;  // micro-batches of a step
  bool drop_last = false;
  std::vector<size_t> infos;
  uint64_t data = 0;            // Dataset::fingerprint()
  int threads = 0;              // sums are cut by it, so that other numbers round otherwise
  std::string conv = "direct";  // how convolutions are computed; all were direct once
  /// The frozen part of the model, where there is one, is computed apart; it was not once.
  bool splits_frozen = false;
  std::optional<uint32_t> model;  // model_fingerprint(); checkpoints of before have none
  std::optional<std::map<std::string, std::string>> arrays;  // which array is given to which input

  std::optional<std::map<std::string, uint32_t>> settings;  // kept_state() of the first model

  std::optional<uint32_t> tensors;  // tensors_checksum() of a checkpoint

  /// What was asked for on the command line and goes on without being said again, by option.
  std::map<std::string, std::string> options;

  /// The best epoch so far, by the metric that is watched.
  struct Best {
    double value = 0;
    uint64_t epoch = 0, step = 0;
  };
  std::optional<Best> best;

  // How far it is.
  uint64_t epoch = 0;    // epochs done
  int64_t position = 0;  // examples seen in this one
  uint64_t step = 0;
  MetricTotals totals;  // of this epoch
};

/// Batch times accumulate. Throws Error where that is more than can be counted.
int64_t examples_a_step(const LoopState& state);

std::string to_json(const LoopState& state);
/// Throws Error where the text is none that to_json gives.
LoopState loop_state_from_json(const std::string& text);

}  // namespace onward
