#pragma once

#include <functional>

#include "data/feeds.h"
#include "train/checkpoint.h"
#include "train/report.h"

namespace onward {

class FrozenPart;

struct LoopOptions {
  uint64_t epochs = 0;  // to be done in all; 0 for no limit but that of `steps`
  uint64_t steps = 0;   // to be done in all; 0 for no limit but that of `epochs`
  /// Where to save on the way, or null, and after how many steps; 0 for after each epoch.
  const CheckpointFolder* checkpoints = nullptr;
  uint64_t checkpoint_every = 0;
  /// What computes, or has kept, the frozen part of the trainer's steps, where it is split off.
  FrozenPart* frozen = nullptr;
  /// Evaluates the model after each epoch, where given.
  std::function<Summary()> evaluate;
  /// The metric of the evaluation by which epochs are compared; empty for none.
  std::string watched;
  /// Ends the training after so many epochs without a better one.
  std::optional<uint64_t> patience;
  /// Is called after an epoch that is better than all before, with a state that is good.
  std::function<void()> on_best = [] {};
  /// The label of each example, where an epoch is to draw each class equally often; else empty.
  std::vector<int64_t> balanced = {};
  /// Ends the training after the step in which it is over, counted from the call; 0 for none.
  double seconds = 0;
  /// Is told when the trainer's model has got a state that is known to be good, and whose it is.
  std::function<void(const LoopState&)> on_kept = [](const LoopState&) {};
};

enum class Ending : uint8_t { done, interrupted };

/// Trains until the limits are reached or Interrupt::requested(), from where `loop` stands on, and
/// keeps it up to date. An Error that comes up in a step says in which, and leaves trainer, loop
/// and the last checkpoint as they were before it.
Ending train(Trainer& trainer, const Feeds& feeds, LoopState& loop, const LoopOptions& options,
             Report& report);

/// The steps that one pass over so many examples takes.
uint64_t steps_per_epoch(int64_t examples, const LoopState& loop);

}  // namespace onward
