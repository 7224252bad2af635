#pragma once

// What a training tells of itself: lines on standard output, --log and --report.

#include "cli/train_start.h"
#include "train/report.h"
#include "train/report_page.h"
#include "train/wrong_examples.h"

namespace onward::cli {

/// What the last evaluation saw, for the report.
struct Seen {
  WrongExamples wrong;
  std::shared_ptr<const Feeds> feeds;  // null until there is an evaluation
};

void add_report_options(Command& command, TrainArguments* options);

/// Throws Error where a report would replace a file that is none.
void require_report_file(const std::string& report, const std::string& output);

/// A training that is about to begin.
struct Reported {
  const TrainArguments& options;
  const Trainer& trainer;
  const Model& model;
  const LoopState& loop;
  std::shared_ptr<Seen> seen;
};

/// All reports that were asked for. Throws Error where a log or a report can't be written.
std::unique_ptr<Report> reports_of(const Reported& reported);

/// The options of a command as a report lists them.
std::vector<ReportPage::Option> shown_options(const Command& command);
/// "Onward 0.1.0, commit 1234", threads and the time.
void add_run_facts(int threads, ReportPage& page);
/// The confusion matrix, and the examples that were most wrong, as far as they can be shown.
void add_wrong(const WrongExamples& wrong, const Feeds& feeds, ReportPage& page);

}  // namespace onward::cli
