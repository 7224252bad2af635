#pragma once

// Options of `onward train` that look at the evaluation after each epoch, or at the clock.

#include <filesystem>
#include <optional>

#include "cli/train_start.h"
#include "data/split.h"

namespace onward::cli {

/// What --metrics, --val-split, --early-stop, --keep, --balance and --time-limit ask for.
struct Watch {
  std::optional<double> split;
  std::string metric;                // empty where epochs need not be compared
  std::vector<std::string> metrics;  // asked for; empty for the default
  bool draws_balanced = false;       // classes equally often
  std::optional<uint64_t> patience;
  bool keeps_best = false, keeps_last = true;
  double seconds = 0;
};

void add_watch_options(Command& command, TrainArguments* options);

/// The options as texts: those given, or else those that a checkpoint holds. Throws Error where
/// that would not be the same training.
std::map<std::string, std::string> watch_options(const TrainArguments& options,
                                                 const std::optional<LoopState>& saved);

/// Throws Error where an option makes no sense, or there is nothing to evaluate on.
Watch watch_of(const TrainArguments& options, const std::map<std::string, std::string>& texts);

/// Throws Error where a metric that was asked for fits none of these training infos.
void require_metrics_fit(Trainer& trainer, const std::vector<size_t>& infos, const Watch& watch);

/// Where the model of the best epoch is kept: "trained.best.onnx" for "trained.onnx".
std::filesystem::path best_file(const TrainArguments& options);

/// Throws Error where the best model of before is gone, or none could be written.
void require_best_file(const TrainArguments& options, const Watch& watch, const LoopState& loop);

/// The label of each example to train on, where --balance needs them. Throws Error where there are
/// none. Without it, says so where classes are far from equally frequent.
std::vector<int64_t> labels_to_balance(const Feeds& feeds, const Watch& watch);

/// Takes the examples to hold out from those that are trained on, and gives them.
std::vector<int64_t> hold_out(Feeds& feeds, const Watch& watch, uint64_t seed);

}  // namespace onward::cli
