#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "format/atomic_file.h"
#include "onward/error.h"
#include "train/csv_log.h"
#include "train/event_file.h"
#include "train/report.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

std::string wall_time() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{:.3f}", now.count());
}

NamedValues with_prefix(std::string_view prefix, const NamedValues& values) {
  NamedValues named;
  for (const auto& [name, value] : values) named.emplace_back(std::string(prefix) + name, value);
  return named;
}

void add_values(CsvLog::Row& row, const NamedValues& values) {
  for (const auto& [name, value] : values) row.emplace_back(name, fmt::format("{}", value));
}

/// TensorBoard draws curves over each other that have one name in two runs, and a folder is a run.
class LogReport : public Report {
 public:
  explicit LogReport(LogFolder folder)
      : folder_(std::move(folder)),
        steps_(folder_.path / "steps.csv", "step"),
        epochs_(folder_.path / "epochs.csv", "epoch") {
    const bool has_log = steps_.has_rows() || epochs_.has_rows();
    if (has_log && !folder_.resumes) {
      throw Error(
          fmt::format("'{}' holds the log of another training: remove it, or choose another folder "
                      "with --log",
                      folder_.path.string()),
          ErrorCode::file);
    }
    std::error_code failure;
    fs::create_directories(folder_.path, failure);
    if (failure) {
      throw Error(
          fmt::format("folder '{}' can't be made: {}", folder_.path.string(), failure.message()),
          ErrorCode::file);
    }
    require_writable(folder_.path / "steps.csv");
  }

  void begin(const Job& /*job*/) override {
    guarded([&] {
      steps_.keep(folder_.step);
      epochs_.keep(folder_.epoch);
      training_.emplace(run("train"), restart());
      if (fs::exists(run("evaluation"))) evaluation_.emplace(run("evaluation"), restart());
    });
  }

  void step(const Moment& moment, const Summary& step, const Summary& /*epoch*/) override {
    guarded([&] {
      const NamedValues values = named_values(step);
      CsvLog::Row row = {{"epoch", std::to_string(moment.epoch)},
                         {"examples", std::to_string(moment.examples)},
                         {"time", wall_time()}};
      add_values(row, values);
      steps_.append(moment.step, row);
      training_->add(moment.step, with_prefix("step/", values));
      last_step_ = moment.step;
    });
  }

  void evaluating(int64_t /*done*/, int64_t /*examples*/) override {}

  void epoch(const Moment& moment, const Summary& training,
             const std::optional<Summary>& evaluation) override {
    guarded([&] {
      CsvLog::Row row = {{"step", std::to_string(moment.step)}, {"time", wall_time()}};
      add_values(row, with_prefix("train/", named_values(training)));
      if (evaluation) add_values(row, with_prefix("evaluation/", named_values(*evaluation)));
      epochs_.append(moment.epoch, row);
      training_->add(moment.step, with_prefix("epoch/", named_values(training)));
      if (!evaluation) return;
      if (!evaluation_) evaluation_.emplace(run("evaluation"), std::nullopt);
      evaluation_->add(moment.step, with_prefix("epoch/", named_values(*evaluation)));
    });
  }

  void checkpoint(const Moment& /*moment*/, const fs::path& /*file*/) override {}
  void interrupted(const Moment& /*moment*/, const std::string& /*how_to_resume*/) override {}
  void best(const Moment& /*moment*/, const fs::path& /*file*/) override {}
  void stopped(const Moment& /*moment*/, const std::string& /*reason*/) override {}
  void done(const Moment& /*moment*/, const fs::path& /*file*/) override {}

 private:
  fs::path run(const char* name) const { return folder_.path / name; }

  std::optional<uint64_t> restart() const {
    return folder_.resumes ? std::optional(folder_.step + 1) : std::nullopt;
  }

  /// A training is worth more than its log.
  template <typename Work>
  void guarded(const Work& work) {
    if (is_over_) return;
    try {
      work();
    } catch (const std::exception& failure) {
      is_over_ = true;
      // On a terminal there may be a progress bar in this line.
      fmt::print(stderr,
                 "{}warning: the log in '{}' ends after step {}, the training goes on: {}\n",
                 ::isatty(STDERR_FILENO) ? "\n" : "", folder_.path.string(),
                 std::max(last_step_, folder_.step), failure.what());
    }
  }

  LogFolder folder_;
  CsvLog steps_, epochs_;
  std::optional<EventFile> training_, evaluation_;
  uint64_t last_step_ = 0;
  bool is_over_ = false;
};

}  // namespace

std::unique_ptr<Report> log_report(const LogFolder& folder) {
  return std::make_unique<LogReport>(folder);
}

}  // namespace onward
