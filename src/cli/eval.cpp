#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/confusion_text.h"
#include "cli/data_arguments.h"
#include "cli/train_report.h"
#include "cli/training_options.h"
#include "format/load.h"
#include "proto/mapped_tensors.h"
#include "runtime/parallel.h"
#include "train/evaluator.h"
#include "train/report_html.h"

namespace onward::cli {
namespace {

struct EvalArguments {
  std::string model, data, metrics, report;
  std::vector<std::string> feeds;
  DataArguments reading;
  int64_t batch = kEvaluationBatch, threads = 0, info = -1;
  bool json = false;
  std::optional<Argument> batch_argument;
  std::optional<Command> command;  // which they are the options of
};

/// What the evaluation gave, and how long it took.
struct Evaluated {
  const Summary& summary;
  const WrongExamples& wrong;
  double seconds;
};

void write_report(const EvalArguments& options, const Feeds& feeds, const Evaluated& evaluated) {
  const std::string examples = std::to_string(feeds.size());
  ReportPage page;
  page.title = "Evaluation of " + std::filesystem::path(options.model).filename().string();
  page.status = ReportPage::Status::done;
  page.facts = {{"model", options.model}, {"data", options.data}, {"examples", examples}};
  add_run_facts(threads(), page);
  page.options = shown_options(*options.command);
  for (const auto& [name, value] : named_values(evaluated.summary)) {
    page.highlights.push_back({name, value_text(name, value)});
  }
  page.highlights.push_back({"examples", examples});
  page.classes = feeds.class_counts();
  page.evaluation = evaluated.summary;
  page.times = {.evaluation = evaluated.seconds, .peak_bytes = peak_memory()};
  add_wrong(evaluated.wrong, feeds, page);
  write_page(options.report, page);
}

void run_eval(const EvalArguments& options) {
  require_report_file(options.report, "");
  const Threads threads(thread_count(options.threads));
  Model model = load(options.model);
  read_mapped(model);
  Dataset data = open_dataset(options.data, data_options(options.reading, model));
  warn_of_ignored(data, options.data);
  require_classes_fit(data, model);
  size_t skipped = 0;
  std::optional<Feeds> seen;  // as far as they could be read
  State state(model);
  ProgressBar bar;
  EvaluateOptions how{.names = array_names(options.feeds),
                      .metrics = metrics_in(options.metrics),
                      .on_feeds = [&](Feeds& feeds) {
                        skipped = skip_unreadable(feeds, options.reading).size();
                        seen = feeds;
                      }};
  const std::vector<std::string> classes = data_options_of(model).classes;
  if (options.batch_argument->given()) how.batch_size = options.batch;
  if (!options.json) {
    how.on_batch = [&](int64_t done, int64_t all) {
      bar.show(static_cast<double>(done) / static_cast<double>(all), "evaluating", "");
    };
  }
  WrongExamples wrong;
  if (!options.report.empty()) {
    how.on_scores = [&](const ScoredBatch& batch) { wrong.add(batch); };
  }
  const auto begin = std::chrono::steady_clock::now();
  const Summary summary =
      evaluate(model, infos_of(model, options.info), std::move(data), state, how);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  bar.clear();
  warn_of_skipped(skipped);
  if (options.json) {
    nlohmann::ordered_json json{
        {"model", options.model}, {"data", options.data}, {"examples", seen->size()}};
    json.update(to_json(summary));
    if (summary.confusion && !classes.empty()) json["classes"] = classes;
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{} examples: {}\n", seen->size(), to_string(summary));
    if (summary.confusion) fmt::print("{}", confusion_text(*summary.confusion, classes));
  }
  if (!options.report.empty()) {
    write_report(options, *seen, {.summary = summary, .wrong = wrong, .seconds = passed.count()});
  }
}

}  // namespace

void add_eval(CommandLine& line) {
  auto options = std::make_shared<EvalArguments>();
  Command command =
      line.command("eval", "Evaluate a model on a dataset: loss, accuracy and other metrics");
  command
      .positional("MODEL", &options->model, "a training model, or a classifier (.onnx or .onnxtxt)")
      .required();
  command.option("--data", &options->data, kDataHelp).required();
  options->batch_argument =
      command.option("--batch-size", &options->batch, "examples per batch").at_least(1);
  command.former_name("--batch", "--batch-size");
  command.option("--feed", &options->feeds, "feed an input from an array of another name")
      .value_name("INPUT=ARRAY");
  add_metrics(command, &options->metrics);
  add_data_options(command, &options->reading);
  add_masks(command, &options->reading);
  add_threads(command, &options->threads);
  add_info(command, &options->info);
  command.flag("--json", &options->json, "print the result as JSON");
  command
      .option("--report", &options->report,
              "one HTML file with the result, confusion matrix and wrong examples")
      .value_name("FILE.html");
  command.footer(
      "The loss is averaged over all examples; Dropout and BatchNormalization run in inference "
      "mode.\n"
      "Metrics are those of scikit-learn (docs/training.md).\n"
      "Example: onward eval trained.onnx --data test.npz");
  options->command = command;
  command.run([options] { run_eval(*options); });
}

}  // namespace onward::cli
