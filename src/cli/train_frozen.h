#pragma once

// What `onward train` does about the part of a model that the training leaves as it is.

#include "cli/train_start.h"
#include "train/evaluator.h"
#include "train/frozen_part.h"
#include "train/trainer.h"

namespace onward::cli {

/// The frozen part of the steps, that of the evaluation, and where their results are kept.
class FrozenParts {
 public:
  /// Splits it off the steps of the trainer, unless the training began without.
  FrozenParts(const TrainArguments& options, const LoopState& loop, Trainer& trainer,
              const Feeds& feeds);

  /// Null where nothing is split off the steps.
  FrozenPart* of_steps() const { return of_steps_.get(); }
  void split_off(Evaluator& evaluator, const Feeds& feeds, int64_t batch);

  /// What was split off and how it is computed, or why nothing was.
  std::string explain() const;

 private:
  bool begins_without_;
  FrozenOptions options_;
  std::unique_ptr<FrozenPart> of_steps_;
  const FrozenPart* of_evaluation_ = nullptr;
  std::string reason_, evaluation_reason_;
};

void add_prefix_cache(Command& command, TrainArguments* options);

}  // namespace onward::cli
