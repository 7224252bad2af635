#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "train/metrics.h"

namespace onward {

/// What is known of the part of a model that gives the same for an example in each epoch.
struct FrozenSummary {
  size_t nodes = 0, all_nodes = 0;  // of the part, and of the forward pass
  int64_t bytes = 0;                // that are kept of an example
  int64_t examples = 0, kept = 0;   // of the data, and those that there is room for
};

/// "152 of 158 nodes are computed once per example, 5.12 KB each".
std::string to_string(const FrozenSummary& summary);

/// What a training is about to do.
struct Job {
  int64_t examples = 0;  // in the data
  /// Of each class, where the data has names for them.
  std::vector<std::pair<std::string, int64_t>> classes;
  std::optional<FrozenSummary> frozen;  // what is not computed in each epoch
  uint64_t steps_per_epoch = 0;         // of all its batches
  uint64_t epochs = 0;                  // to be done in all, or
  uint64_t steps = 0;                   // to be done in all: whichever ends first
  uint64_t first_step = 0;              // done already, where it goes on from a checkpoint
  uint64_t first_epoch = 0;             // of those before, how many are complete
};

/// Where a training is.
struct Moment {
  uint64_t epoch = 0;  // counted from 1
  uint64_t step = 0;   // steps done
  int64_t examples = 0;
};

/// Is told what happens while a model is trained or evaluated.
class Report {
 public:
  virtual ~Report() = default;

  virtual void begin(const Job& job) = 0;
  /// After each step: its own summary, and that of the epoch so far.
  virtual void step(const Moment& moment, const Summary& step, const Summary& epoch) = 0;
  /// While a dataset is evaluated.
  virtual void evaluating(int64_t done, int64_t examples) = 0;
  virtual void epoch(const Moment& moment, const Summary& training,
                     const std::optional<Summary>& evaluation) = 0;
  virtual void checkpoint(const Moment& moment, const std::filesystem::path& file) = 0;
  virtual void interrupted(const Moment& moment, const std::string& how_to_resume) = 0;
  /// Where the model of the best epoch is, once all is done; the moment is its own.
  virtual void best(const Moment& moment, const std::filesystem::path& file) = 0;
  /// Why it ends before its last epoch, though nothing is wrong.
  virtual void stopped(const Moment& moment, const std::string& reason) = 0;
  virtual void done(const Moment& moment, const std::filesystem::path& file) = 0;
  /// An error ends it, whose message the program prints.
  virtual void failed(const Moment& /*moment*/, const std::string& /*message*/) {}
};

/// Lines for people on standard output, and a progress bar on the terminal, where there is one.
std::unique_ptr<Report> text_report();
/// One JSON object a line on standard output.
std::unique_ptr<Report> json_report();
/// Tells all of them, in that order.
std::unique_ptr<Report> many_reports(std::vector<std::unique_ptr<Report>> reports);

/// A folder for the numbers of a training.
struct LogFolder {
  std::filesystem::path path;
  /// Goes on with the log that is there, after this step and this many complete epochs; without,
  /// one that is there is refused.
  bool resumes = false;
  uint64_t step = 0, epoch = 0;
};
/// Files that TensorBoard reads, and steps.csv and epochs.csv with the same numbers. Throws Error
/// where the folder is another training's or can't be written in. Once the training runs, what
/// can't be written ends the log with a warning, and not the training.
std::unique_ptr<Report> log_report(const LogFolder& folder);

/// The numbers of a summary with their names: `loss` where there is one, else `loss/NAME`,
/// `accuracy`, and the metrics.
using NamedValues = std::vector<std::pair<std::string, double>>;
NamedValues named_values(const Summary& summary);

/// {"loss": 0.1, "losses": {"loss": 0.1}, "accuracy": 0.98, "metrics": {"f1": 0.97, "auc": null},
/// "missing": {"auc": "no examples have label 1"}, "confusion": [[8, 0], [1, 7]]}; "loss" only
/// where there is one, what follows accuracy only where it was asked for.
nlohmann::ordered_json to_json(const Summary& summary);

/// One line of progress. A terminal sees it redrawn in place, cut to the terminal's width; a
/// terminal that can't (TERM=dumb) and everything else get a line every ten seconds. Nothing is
/// ever coloured, so that NO_COLOR asks for nothing; only the redraw needs an escape sequence.
class ProgressBar {
 public:
  ProgressBar();

  /// Shows a label, a bar and `text`, as far as the line has room: the bar shrinks first, then the
  /// text is cut. Draws nothing where the last drawing is less than 0.1 s ago.
  void show(double part, const std::string& label, const std::string& text);
  /// Wipes it away, so that lines can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  bool is_terminal_;
  bool is_drawn_ = false;
  Clock::time_point last_;
};

}  // namespace onward
