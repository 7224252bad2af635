#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "train/report.h"

namespace onward {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// 0:07, 12:34, 1:02:03.
std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string counted(uint64_t steps) {
  return fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
}

/// " of 2 classes (cats 40, dogs 38)"; of many, the smallest and the largest.
std::string class_balance(const std::vector<std::pair<std::string, int64_t>>& classes) {
  constexpr size_t kMaxListed = 10;
  if (classes.empty()) return {};
  std::string text;
  if (classes.size() <= kMaxListed) {
    for (const auto& [name, count] : classes) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
    }
  } else {
    using Class = std::pair<std::string, int64_t>;
    const auto [least, most] = std::ranges::minmax_element(classes, {}, &Class::second);
    text = fmt::format("from {} of '{}' to {} of '{}'", least->second, least->first, most->second,
                       most->first);
  }
  return fmt::format(" of {} class{} ({})", classes.size(), classes.size() == 1 ? "" : "es", text);
}

class TextReport : public Report {
 public:
  void begin(const Job& job) override {
    job_ = job;
    begin_ = Clock::now();
    if (job.first_step > 0) fmt::print("resuming after step {}\n", job.first_step);
    fmt::print("{} examples{}, {} per epoch\n", job.examples, class_balance(job.classes),
               counted(job.steps_per_epoch));
    if (job.frozen && job.frozen->kept > 0) fmt::print("frozen: {}\n", to_string(*job.frozen));
    std::fflush(stdout);
  }

  void step(const Moment& moment, const Summary& step, const Summary& epoch) override {
    static_cast<void>(step);
    examples_ += moment.examples;
    const uint64_t all = all_steps();
    const double here = static_cast<double>(moment.step - job_.first_step);
    const double left = static_cast<double>(all - std::min(all, moment.step));
    const double seconds = seconds_since(begin_);
    bar_.show(static_cast<double>(moment.step) / static_cast<double>(std::max<uint64_t>(all, 1)),
              epoch_label(moment),
              fmt::format("{}  {}  eta {}", rate(seconds), to_string(epoch),
                          clock_text(seconds / here * left)));
  }

  void evaluating(int64_t done, int64_t examples) override {
    bar_.show(static_cast<double>(done) / static_cast<double>(examples), "evaluating", "");
  }

  void epoch(const Moment& moment, const Summary& training,
             const std::optional<Summary>& evaluation) override {
    bar_.clear();
    fmt::print("{}: {}", epoch_label(moment), to_string(training));
    if (evaluation) fmt::print("; evaluation: {}", to_string(*evaluation));
    fmt::print("\n");
    std::fflush(stdout);
  }

  void checkpoint(const Moment& /*moment*/, const std::filesystem::path& /*file*/) override {}

  void interrupted(const Moment& moment, const std::string& how_to_resume) override {
    bar_.clear();
    fmt::print("interrupted after step {}; resume with:\n  {}\n", moment.step, how_to_resume);
  }

  void best(const Moment& moment, const std::filesystem::path& file) override {
    bar_.clear();
    fmt::print("best epoch {}: {}\n", moment.epoch, file.string());
  }

  void stopped(const Moment& /*moment*/, const std::string& reason) override {
    bar_.clear();
    fmt::print("stopped: {}\n", reason);
  }

  void done(const Moment& moment, const std::filesystem::path& file) override {
    bar_.clear();
    const double seconds = seconds_since(begin_);
    fmt::print("{} in {}, {}\n", counted(moment.step - job_.first_step), clock_text(seconds),
               rate(seconds));
    fmt::print("{}\n", file.string());
  }

 private:
  uint64_t all_steps() const {
    uint64_t by_epochs = 0;
    if (__builtin_mul_overflow(job_.epochs, job_.steps_per_epoch, &by_epochs)) {
      by_epochs = std::numeric_limits<uint64_t>::max();
    }
    if (job_.steps == 0) return by_epochs;
    return by_epochs == 0 ? job_.steps : std::min(by_epochs, job_.steps);
  }

  std::string epoch_label(const Moment& moment) const {
    return job_.epochs == 0 ? fmt::format("epoch {}", moment.epoch)
                            : fmt::format("epoch {}/{}", moment.epoch, job_.epochs);
  }

  std::string rate(double seconds) const {
    return fmt::format("{:.0f} examples/s",
                       static_cast<double>(examples_) / std::max(seconds, 1e-9));
  }

  Job job_;
  Clock::time_point begin_;
  int64_t examples_ = 0;
  ProgressBar bar_;
};

}  // namespace

std::unique_ptr<Report> text_report() { return std::make_unique<TextReport>(); }

}  // namespace onward
