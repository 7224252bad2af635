#include "cli/train_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <ctime>
#include <fstream>

#include "cli/build_info.h"
#include "format/atomic_file.h"
#include "ir/roles.h"
#include "onward/error.h"
#include "onward/version.h"
#include "recipe/recipe.h"
#include "train/example_view.h"
#include "train/report_html.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;

/// The loss and the optimizer, where a recipe tells them, and how much is trained.
void add_model_facts(const Reported& reported, ReportPage& page) {
  int64_t tensors = 0, numbers = 0;
  for (const InitializerRole& each : initializer_roles(reported.model)) {
    const Tensor* tensor = each.value->tensor();
    if (each.role != Role::parameter || !tensor) continue;
    ++tensors;
    numbers += tensor->size();
  }
  page.facts.push_back({"trained parameters", fmt::format("{} in {} tensors", numbers, tensors)});
  for (const size_t info : reported.loop.infos) {
    const auto found = recognise(reported.model, info);
    if (!found) continue;
    page.facts.push_back({"loss", found->recipe.loss});
    page.facts.push_back({"optimizer", fmt::format("{}, as in {}", found->recipe.optimizer.name(),
                                                   to_string(found->recipe.optimizer.formula()))});
  }
}

ReportPage first_page(const Reported& reported) {
  const TrainArguments& options = reported.options;
  const LoopState& loop = reported.loop;
  ReportPage page;
  page.title = "Training of " + fs::path(options.model).filename().string();
  page.facts = {{"model", options.model}, {"data", options.data}};
  if (!options.evaluation.empty()) page.facts.push_back({"evaluated on", options.evaluation});
  page.facts.push_back({"trained model", options.output});
  add_model_facts(reported, page);
  const std::string batch = std::to_string(loop.batch);
  page.facts.push_back({"examples per step", loop.accumulate == 1
                                                 ? batch
                                                 : fmt::format("{} x {}", batch, loop.accumulate)});
  page.facts.push_back({"seed", std::to_string(loop.seed)});
  for (const auto& [option, text] : loop.options) page.facts.push_back({option, text});
  page.facts.push_back({"convolutions", loop.conv});
  add_run_facts(reported.trainer.threads(), page);
  page.options = shown_options(*options.command);
  return page;
}

}  // namespace

void add_report_options(Command& command, TrainArguments* options) {
  command
      .option("--log", &options->log,
              "folder for curves: event files for TensorBoard, steps.csv and epochs.csv")
      .value_name("DIR");
  command
      .option("--report", &options->report,
              "one HTML file with curves, confusion matrix, wrong examples, times and settings; "
              "written after each epoch and in the end")
      .value_name("FILE.html");
}

void require_report_file(const std::string& report, const std::string& output) {
  if (report.empty()) return;
  require_writable(report);
  std::error_code failure;
  const bool is_output =
      fs::weakly_canonical(report, failure) == fs::weakly_canonical(output, failure);
  if (!output.empty() && is_output) {
    throw Error(fmt::format("--report and -o both name '{}'", report), ErrorCode::file);
  }
  if (!fs::is_regular_file(report, failure)) return;
  constexpr std::string_view kBegin = "<!DOCTYPE html>";
  std::array<char, kBegin.size()> begin{};
  std::ifstream(report, std::ios::binary).read(begin.data(), begin.size());
  if (std::string_view(begin.data(), begin.size()) != kBegin) {
    throw Error(
        fmt::format("'{}' is not a report, and --report would replace it: give another name",
                    report),
        ErrorCode::file);
  }
}

std::unique_ptr<Report> reports_of(const Reported& reported) {
  const TrainArguments& options = reported.options;
  std::vector<std::unique_ptr<Report>> reports;
  reports.push_back(options.json ? json_report() : text_report());
  if (!options.log.empty()) {
    reports.push_back(log_report({.path = options.log,
                                  .resumes = options.resume,
                                  .step = reported.loop.step,
                                  .epoch = reported.loop.epoch}));
  }
  if (!options.report.empty()) {
    const auto complete = [&trainer = reported.trainer, seen = reported.seen](ReportPage& page) {
      page.kernels = trainer.kernel_times();
      if (seen->feeds) add_wrong(seen->wrong, *seen->feeds, page);
    };
    reports.push_back(html_report({.file = options.report,
                                   .page = first_page(reported),
                                   .resumes = options.resume,
                                   .complete = complete}));
  }
  return many_reports(std::move(reports));
}

std::vector<ReportPage::Option> shown_options(const Command& command) {
  std::vector<ReportPage::Option> shown;
  for (const OptionValue& each : command.settings()) {
    shown.push_back({.name = each.name,
                     .value = fmt::format("{}", fmt::join(each.values, ", ")),
                     .given = each.given});
  }
  return shown;
}

void add_run_facts(int threads, ReportPage& page) {
  page.facts.push_back({"threads", std::to_string(threads)});
  page.facts.push_back({"Onward", commit().empty()
                                      ? std::string(kVersion)
                                      : fmt::format("{}, commit {}", kVersion, commit())});
  page.facts.push_back(
      {"begun", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))});
}

void add_wrong(const WrongExamples& wrong, const Feeds& feeds, ReportPage& page) {
  const std::vector<WrongExample> worst = wrong.worst();
  std::vector<int64_t> places;
  for (const WrongExample& each : worst) places.push_back(feeds.place(each.row));
  page.wrong = shown_examples(feeds.data(), worst, places);
  page.wrong_count = wrong.count();
  const bool has_confusion = page.evaluation && page.evaluation->confusion;
  if (page.evaluation && !has_confusion && wrong.confusion().classes > 0) {
    page.evaluation->confusion = wrong.confusion();
  }
}

}  // namespace onward::cli
