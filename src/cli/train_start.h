#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/data_arguments.h"
#include "cli/training_options.h"
#include "train/checkpoint.h"

namespace onward::cli {

struct TrainArguments {
  std::string model, data, output, evaluation, checkpoint, conv = "fastest";
  std::string early_stop, keep, time_limit, augment, metrics, balance;
  std::string log, report, prefix_cache;
  double split = 0;
  std::vector<std::string> feeds;
  DataArguments reading;
  int64_t epochs = 1, steps = 0, batch = 32, accumulate = 1, checkpoint_every = 0, seed = 0;
  int64_t threads = 0, info = -1;
  bool resume = false, initialize = false, json = false, inference = false, drop_last = false;
  bool explain = false;

  // Whether the user gave them makes a difference.
  std::optional<Argument> epochs_argument, batch_argument, accumulate_argument, seed_argument,
      info_argument, split_argument, conv_argument;
  std::optional<Command> command;  // which they are the options of

  /// `--epochs` has a default, which does not count where `--steps` is given.
  bool counts_epochs() const { return epochs_argument->given() || steps == 0; }
  std::string checkpoint_folder() const {
    return checkpoint.empty() ? output + ".checkpoint" : checkpoint;
  }
};

/// What a training begins with.
struct Start {
  Model model;
  std::optional<LoopState> loop;  // where it goes on from a checkpoint
};

/// The model, with the state of the checkpoint where the training goes on from one. Throws Error
/// where that would not be the same training.
Start start(const TrainArguments& options, const CheckpointFolder& checkpoints);

}  // namespace onward::cli
