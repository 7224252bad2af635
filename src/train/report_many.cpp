#include "train/report.h"

namespace onward {
namespace {

class ManyReports : public Report {
 public:
  explicit ManyReports(std::vector<std::unique_ptr<Report>> reports)
      : reports_(std::move(reports)) {}

  void begin(const Job& job) override {
    for (const auto& each : reports_) each->begin(job);
  }
  void step(const Moment& moment, const Summary& step, const Summary& epoch) override {
    for (const auto& each : reports_) each->step(moment, step, epoch);
  }
  void evaluating(int64_t done, int64_t examples) override {
    for (const auto& each : reports_) each->evaluating(done, examples);
  }
  void epoch(const Moment& moment, const Summary& training,
             const std::optional<Summary>& evaluation) override {
    for (const auto& each : reports_) each->epoch(moment, training, evaluation);
  }
  void checkpoint(const Moment& moment, const std::filesystem::path& file) override {
    for (const auto& each : reports_) each->checkpoint(moment, file);
  }
  void interrupted(const Moment& moment, const std::string& how_to_resume) override {
    for (const auto& each : reports_) each->interrupted(moment, how_to_resume);
  }
  void best(const Moment& moment, const std::filesystem::path& file) override {
    for (const auto& each : reports_) each->best(moment, file);
  }
  void stopped(const Moment& moment, const std::string& reason) override {
    for (const auto& each : reports_) each->stopped(moment, reason);
  }
  void done(const Moment& moment, const std::filesystem::path& file) override {
    for (const auto& each : reports_) each->done(moment, file);
  }
  void failed(const Moment& moment, const std::string& message) override {
    for (const auto& each : reports_) each->failed(moment, message);
  }

 private:
  std::vector<std::unique_ptr<Report>> reports_;
};

}  // namespace

std::unique_ptr<Report> many_reports(std::vector<std::unique_ptr<Report>> reports) {
  if (reports.size() == 1) return std::move(reports[0]);
  return std::make_unique<ManyReports>(std::move(reports));
}

NamedValues named_values(const Summary& summary) {
  NamedValues values;
  for (const auto& [name, value] : summary.losses) {
    values.emplace_back(summary.losses.size() == 1 ? "loss" : "loss/" + name, value);
  }
  if (summary.accuracy) values.emplace_back("accuracy", *summary.accuracy);
  for (const auto& metric : summary.metrics) values.push_back(metric);
  return values;
}

}  // namespace onward
