#include "train/report_html.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "format/atomic_file.h"
#include "train/report_history.h"

namespace onward {
namespace {

using Page = ReportPage;

class HtmlPages : public Report {
 public:
  explicit HtmlPages(HtmlReport report) : report_(std::move(report)), page_(report_.page) {}

  void begin(const Job& job) override {
    job_ = job;
    if (report_.resumes && job.first_step > 0) restore();
    last_ = Clock::now();
    page_.classes = job.classes;
    page_.facts.push_back({"training examples", std::to_string(job.examples)});
    page_.facts.push_back({"steps per epoch", std::to_string(job.steps_per_epoch)});
    if (job.first_step > 0) {
      page_.facts.push_back({"resumed", fmt::format("after step {}", job.first_step)});
    }
  }

  void step(const Moment& moment, const Summary& step, const Summary& /*epoch*/) override {
    const double seconds = lap();
    epoch_seconds_ += seconds;
    epoch_examples_ += moment.examples;
    page_.times.training += seconds;
    page_.times.examples += moment.examples;
    step_ = moment.step;
    for (const auto& [name, value] : named_values(step)) {
      curve(steps_, name).add({static_cast<double>(moment.step), value});
    }
  }

  void evaluating(int64_t /*done*/, int64_t /*examples*/) override {}

  void epoch(const Moment& moment, const Summary& training,
             const std::optional<Summary>& evaluation) override {
    const double seconds = evaluation ? lap() : 0;
    page_.times.evaluation += seconds;
    page_.epochs.push_back({.epoch = moment.epoch,
                            .step = moment.step,
                            .training = named_values(training),
                            .evaluation = evaluation ? named_values(*evaluation) : NamedValues(),
                            .examples = epoch_examples_,
                            .seconds = epoch_seconds_,
                            .evaluation_seconds = seconds});
    epoch_seconds_ = 0;
    epoch_examples_ = 0;
    if (evaluation) page_.evaluation = evaluation;
    const bool is_due = !written_ || Clock::now() - *written_ > std::max(kPause, 10 * cost_);
    if (is_due) write();
    last_ = Clock::now();
  }

  void checkpoint(const Moment& /*moment*/, const std::filesystem::path& /*file*/) override {
    last_ = Clock::now();
  }

  void interrupted(const Moment& moment, const std::string& how_to_resume) override {
    end(Page::Status::interrupted,
        fmt::format("Interrupted after step {}; resume with:\n{}", moment.step, how_to_resume));
  }

  void best(const Moment& moment, const std::filesystem::path& file) override {
    page_.facts.push_back({"best epoch", fmt::format("{}, after step {}: {}", moment.epoch,
                                                     moment.step, file.string())});
  }

  void stopped(const Moment& /*moment*/, const std::string& reason) override {
    page_.status = Page::Status::stopped;
    page_.message = "Stopped: " + reason;
  }

  void done(const Moment& /*moment*/, const std::filesystem::path& /*file*/) override {
    const bool stopped = page_.status == Page::Status::stopped;
    end(stopped ? Page::Status::stopped : Page::Status::done, page_.message);
  }

  void failed(const Moment& /*moment*/, const std::string& message) override {
    end(Page::Status::failed, message);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kPause = std::chrono::seconds(1);

  double lap() {
    const auto now = Clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

  /// What is left of the page that the training before this one wrote.
  void restore() {
    const auto history = read_history(report_.file, job_.first_step, job_.first_epoch);
    if (!history) return;
    steps_ = history->steps;
    page_.epochs = history->epochs;
    for (const Page::Epoch& each : page_.epochs) {
      page_.times.examples += each.examples;
      page_.times.training += each.seconds;
      page_.times.evaluation += each.evaluation_seconds;
    }
  }

  void end(Page::Status status, const std::string& message) {
    page_.status = status;
    page_.message = message;
    write();
  }

  std::vector<Chart> charts() const {
    std::vector<Chart> charts;
    const auto add = [&](const std::string& name, Series series) {
      const auto found = std::ranges::find(charts, name, &Chart::title);
      Chart& chart = found == charts.end() ? charts.emplace_back(Chart{name, {}}) : *found;
      chart.series.push_back(std::move(series));
    };
    for (const auto& [name, curve] : steps_) {
      const uint64_t width = curve.width();
      add(name, {.kind = Series::Kind::steps,
                 .name = width == 1 ? "each step" : fmt::format("mean of {} steps", width),
                 .points = curve.points(),
                 .width = width});
    }
    NamedCurves training, evaluation;
    for (const Page::Epoch& each : page_.epochs) {
      const auto x = static_cast<double>(each.step);
      for (const auto& [name, y] : each.training) curve(training, name).add({x, y});
      for (const auto& [name, y] : each.evaluation) curve(evaluation, name).add({x, y});
    }
    for (const auto& [name, curve] : training) {
      add(name,
          {.kind = Series::Kind::training, .name = "training, by epoch", .points = curve.points()});
    }
    for (const auto& [name, curve] : evaluation) {
      add(name, {.kind = Series::Kind::evaluation, .name = "evaluation", .points = curve.points()});
    }
    return charts;
  }

  std::vector<Page::Fact> highlights() const {
    std::vector<Page::Fact> facts;
    if (!page_.epochs.empty()) {
      const Page::Epoch& last = page_.epochs.back();
      const NamedValues& training = last.training;
      for (size_t i = 0; i < std::min<size_t>(training.size(), 2); ++i) {
        const auto& [name, value] = training[i];
        facts.push_back({"training " + name, value_text(name, value)});
      }
    }
    if (page_.evaluation) {
      const NamedValues values = named_values(*page_.evaluation);
      for (size_t i = 0; i < std::min<size_t>(values.size(), 4); ++i) {
        const auto& [name, value] = values[i];
        facts.push_back({"evaluation " + name, value_text(name, value)});
      }
    }
    facts.push_back({"steps done", std::to_string(std::max(step_, job_.first_step))});
    const Page::Times& times = page_.times;
    if (times.training > 0) {
      facts.push_back({"time", duration_text(times.training + times.evaluation)});
      facts.push_back({"examples/s", fmt::format("{:.0f}", static_cast<double>(times.examples) /
                                                               times.training)});
    }
    return facts;
  }

  void write() {
    const auto begin = Clock::now();
    try {
      Page page = page_;
      page.charts = charts();
      page.highlights = highlights();
      page.times.peak_bytes = peak_memory();
      report_.complete(page);
      write_page(report_.file, page);
    } catch (const std::exception& failure) {
      if (!has_warned_) {
        fmt::print(stderr, "{}warning: the report '{}' could not be written: {}\n",
                   ::isatty(STDERR_FILENO) ? "\n" : "", report_.file.string(), failure.what());
      }
      has_warned_ = true;
    }
    written_ = Clock::now();
    cost_ = *written_ - begin;
  }

  HtmlReport report_;
  Page page_;
  Job job_;
  NamedCurves steps_;
  uint64_t step_ = 0;
  int64_t epoch_examples_ = 0;
  double epoch_seconds_ = 0;
  Clock::time_point last_;
  std::optional<Clock::time_point> written_;
  Clock::duration cost_{};
  bool has_warned_ = false;
};

}  // namespace

std::unique_ptr<Report> html_report(HtmlReport report) {
  return std::make_unique<HtmlPages>(std::move(report));
}

void write_page(const std::filesystem::path& file, const ReportPage& page) {
  const std::string text = to_html(page);
  write_atomically(file, [&](int descriptor) { write_all(descriptor, text.data(), text.size()); });
}

uint64_t peak_memory() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace onward
