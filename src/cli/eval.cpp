#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/confusion_text.h"
#include "cli/data_arguments.h"
#include "cli/training_options.h"
#include "format/load.h"
#include "proto/mapped_tensors.h"
#include "runtime/parallel.h"
#include "train/evaluator.h"
#include "train/report.h"

namespace onward::cli {
namespace {

struct EvalArguments {
  std::string model, data, metrics;
  std::vector<std::string> feeds;
  DataArguments reading;
  int64_t batch = kEvaluationBatch, threads = 0, info = -1;
  bool json = false;
  std::optional<Argument> batch_argument;
};

void run_eval(const EvalArguments& options) {
  const Threads threads(thread_count(options.threads));
  Model model = load(options.model);
  read_mapped(model);
  Dataset data = open_dataset(options.data, data_options(options.reading, model));
  warn_of_ignored(data, options.data);
  require_classes_fit(data, model);
  int64_t examples = data.size();
  size_t skipped = 0;
  State state(model);
  ProgressBar bar;
  EvaluateOptions how{.names = array_names(options.feeds),
                      .metrics = metrics_in(options.metrics),
                      .on_feeds = [&](Feeds& feeds) {
                        skipped = skip_unreadable(feeds, options.reading).size();
                        examples = feeds.size();
                      }};
  const std::vector<std::string> classes = data_options_of(model).classes;
  if (options.batch_argument->given()) how.batch_size = options.batch;
  if (!options.json) {
    how.on_batch = [&](int64_t done, int64_t all) {
      bar.show(static_cast<double>(done) / static_cast<double>(all), "evaluating", "");
    };
  }
  const Summary summary =
      evaluate(model, infos_of(model, options.info), std::move(data), state, how);
  bar.clear();
  warn_of_skipped(skipped);
  if (!options.json) {
    fmt::print("{} examples: {}\n", examples, to_string(summary));
    if (summary.confusion) fmt::print("{}", confusion_text(*summary.confusion, classes));
    return;
  }
  nlohmann::ordered_json json{
      {"model", options.model}, {"data", options.data}, {"examples", examples}};
  json.update(to_json(summary));
  if (summary.confusion && !classes.empty()) json["classes"] = classes;
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
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
  command.footer(
      "The loss is averaged over all examples; Dropout and BatchNormalization run in inference "
      "mode.\n"
      "Metrics are those of scikit-learn (docs/training.md).\n"
      "Example: onward eval trained.onnx --data test.npz");
  command.run([options] { run_eval(*options); });
}

}  // namespace onward::cli
