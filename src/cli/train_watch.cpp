#include "cli/train_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "format/atomic_file.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSplit = "--val-split";
constexpr const char* kEarlyStop = "--early-stop";
constexpr const char* kKeep = "--keep";
constexpr const char* kMetrics = "--metrics";
constexpr const char* kBalance = "--balance";

/// "90", "90s", "30m", "1h30m".
double seconds_in(const std::string& text) {
  double all = 0;
  const char *at = text.data(), *end = at + text.size();
  const auto refuse = [&] {
    throw Error(
        fmt::format("--time-limit expects a time such as 90s, 30m or 1h30m, not '{}'", text));
  };
  while (at != end) {
    int64_t number = 0;
    const auto result = std::from_chars(at, end, number);
    if (result.ec != std::errc() || number < 0) refuse();
    at = result.ptr;
    const char unit = at == end ? 's' : *at++;
    if (unit != 's' && unit != 'm' && unit != 'h') refuse();
    all += static_cast<double>(number) * (unit == 's' ? 1 : unit == 'm' ? 60 : 3600);
  }
  if (!(all > 0)) refuse();
  return all;
}

/// What a checkpoint holds may be anything.
double split_in(const std::string& text) {
  double part = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, part);
  if (result.ec != std::errc() || result.ptr != end) {
    throw Error(fmt::format("{} expects a number such as 0.2, not '{}'", kSplit, text));
  }
  return part;
}

/// METRIC:PATIENCE.
void read_early_stop(const std::string& text, Watch& watch) {
  const size_t colon = text.rfind(':');
  uint64_t patience = 0;
  if (colon != std::string::npos && colon > 0) {
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data() + colon + 1, end, patience);
    if (result.ec != std::errc() || result.ptr != end) patience = 0;
  }
  if (patience == 0) {
    throw Error(
        fmt::format("--early-stop expects METRIC:PATIENCE such as loss:3 or accuracy:5, not "
                    "'{}'",
                    text));
  }
  watch.metric = text.substr(0, colon);
  watch.patience = patience;
}

/// They are all that a training has of their class.
void note_single_examples(const Feeds& feeds, const std::vector<int64_t>& labels) {
  constexpr size_t kMost = 3;
  std::map<int64_t, int64_t> counts;
  for (const int64_t label : labels) ++counts[label];
  const auto& classes = feeds.data().options().classes;
  std::string listed;
  size_t single = 0;
  for (const auto& [label, count] : counts) {
    if (count != 1 || ++single > kMost) continue;
    const bool has_name = label >= 0 && label < std::ssize(classes);
    const std::string name = has_name ? classes[static_cast<size_t>(label)] : std::to_string(label);
    listed += fmt::format("{}'{}'", listed.empty() ? "" : ", ", printable(name));
  }
  if (single == 0) return;
  fmt::print(stderr, "note: {} with one example {} not held out: {}{}\n",
             single == 1 ? "a class" : fmt::format("{} classes", single),
             single == 1 ? "is" : "are", listed, single > kMost ? " and others" : "");
}

using Texts = std::map<std::string, std::string>;

std::string text_of(const Texts& texts, const char* option) {
  const auto found = texts.find(option);
  return found == texts.end() ? std::string() : found->second;
}

/// By which epochs are compared; empty where they are not.
std::string watched_metric(const Texts& texts) {
  const std::string stop = text_of(texts, kEarlyStop);
  if (!stop.empty()) return stop.substr(0, stop.rfind(':'));
  return text_of(texts, kKeep).starts_with("best") ? "loss" : "";
}

/// One label for each example: integers, or floats that are 0 and 1; null where there is none.
const Tensor* class_labels(const Feeds& feeds) {
  if (const Tensor* labels = feeds.labels()) return labels;
  const auto& arrays = feeds.data().arrays();
  const auto found = arrays.find(kLabelArray);
  if (found == arrays.end() || !is_float(found->second.dtype())) return nullptr;
  const Tensor& labels = found->second;
  if (labels.size() != feeds.data().size()) return nullptr;
  for (int64_t i = 0; i < labels.size(); ++i) {
    if (labels.number(i) != 0 && labels.number(i) != 1) return nullptr;
  }
  return &labels;
}

/// What was added up or compared already can't be of another metric.
void require_same_metrics(const Texts& texts, const LoopState& saved) {
  const std::string metrics = text_of(texts, kMetrics), before = text_of(saved.options, kMetrics);
  if (metrics != before && saved.position > 0) {
    throw Error(
        fmt::format("the checkpoint is inside of an epoch, of which {} was added up: omit {} to "
                    "resume, or resume from the end of an epoch",
                    before.empty() ? "accuracy" : "'" + before + "'", kMetrics));
  }
  const std::string now = watched_metric(texts), then = watched_metric(saved.options);
  if (saved.best && !now.empty() && now != then) {
    throw Error(
        fmt::format("the checkpoint compared epochs by '{}', not by '{}': give {} {}:PATIENCE "
                    "or omit it to resume",
                    then, now, kEarlyStop, then));
  }
}

}  // namespace

void add_watch_options(Command& command, TrainArguments* options) {
  options->split_argument =
      command
          .number("--val-split", &options->split,
                  "hold out this part of the data, label by label, to evaluate on after each epoch")
          .value_name("FRACTION");
  command
      .option("--early-stop", &options->early_stop,
              "stop after PATIENCE epochs whose evaluation has no better METRIC (loss, accuracy, "
              "or any other of --metrics)")
      .value_name("METRIC:PATIENCE");
  command
      .option(
          "--keep", &options->keep,
          "which epoch's model to write: the last, that with the best evaluation (by the metric "
          "of --early-stop, else the loss), or both")
      .choices({"last", "best", "best,last"})
      .default_name("last");
  add_metrics(command, &options->metrics,
              "; those that are means over examples are shown of epochs of training too");
  command
      .option("--balance", &options->balance,
              "'sample' draws the examples of each class equally often in an epoch, which stays "
              "as long as it is")
      .choices({"none", "sample"})
      .default_name("none");
  command
      .option("--time-limit", &options->time_limit,
              "end with the step in which this time is over, such as 90s, 30m or 1h30m")
      .value_name("TIME");
}

std::map<std::string, std::string> watch_options(const TrainArguments& options,
                                                 const std::optional<LoopState>& saved) {
  std::map<std::string, std::string> texts;
  if (saved) texts = saved->options;
  if (options.split_argument->given()) {
    const std::string given = fmt::format("{}", options.split);
    if (saved && texts[kSplit] != given) {
      throw Error(fmt::format("the checkpoint was made {} {}, not with {}: omit {} to resume",
                              texts[kSplit].empty() ? "without" : "with",
                              texts[kSplit].empty() ? kSplit : texts[kSplit], given, kSplit));
    }
    texts[kSplit] = given;
  }
  if (!options.balance.empty()) {
    const std::string before = texts[kBalance].empty() ? "none" : texts[kBalance];
    if (saved && before != options.balance) {
      throw Error(fmt::format("the checkpoint was made with {0} {1}, not {2}: omit {0} to resume",
                              kBalance, before, options.balance));
    }
    texts[kBalance] = options.balance;
  }
  if (!options.metrics.empty()) texts[kMetrics] = options.metrics;
  if (!options.early_stop.empty()) texts[kEarlyStop] = options.early_stop;
  if (!options.keep.empty()) texts[kKeep] = options.keep;
  std::erase_if(texts, [](const auto& each) { return each.second.empty(); });
  if (saved) require_same_metrics(texts, *saved);
  return texts;
}

Watch watch_of(const TrainArguments& options, const std::map<std::string, std::string>& texts) {
  Watch watch;
  if (const std::string text = text_of(texts, kSplit); !text.empty()) watch.split = split_in(text);
  if (const std::string text = text_of(texts, kEarlyStop); !text.empty())
    read_early_stop(text, watch);
  watch.metrics = metrics_in(text_of(texts, kMetrics));
  watch.draws_balanced = text_of(texts, kBalance) == "sample";
  const std::string keep = text_of(texts, kKeep);
  watch.keeps_best = keep.starts_with("best");
  watch.keeps_last = keep != "best";
  if (watch.keeps_best && watch.metric.empty()) watch.metric = "loss";
  if (!options.time_limit.empty()) watch.seconds = seconds_in(options.time_limit);
  if (watch.split && !options.evaluation.empty()) {
    throw Error("--val-split and --eval both say what to evaluate on: omit one");
  }
  if (!watch.metric.empty() && !watch.split && options.evaluation.empty()) {
    throw Error(fmt::format("{} compares evaluations: give --eval or --val-split",
                            watch.patience ? kEarlyStop : "--keep best"));
  }
  if (!watch.split && options.evaluation.empty()) {
    for (const std::string& name : watch.metrics) {
      if (required_metric(name).def->mean) continue;
      throw Error(fmt::format(
          "metric '{}' is computed of an evaluation: give --eval or --val-split", name));
    }
  }
  return watch;
}

void require_metrics_fit(Trainer& trainer, const std::vector<size_t>& infos, const Watch& watch) {
  for (const std::string& name : watch.metrics) {
    const AskedMetric asked = required_metric(name);
    const bool fits_one = std::ranges::any_of(
        infos, [&](size_t info) { return fits(*asked.def, trainer.metrics(info).how); });
    if (!fits_one) throw Error(misfit(asked, trainer.metrics(infos.front()).how));
  }
}

fs::path best_file(const TrainArguments& options) {
  fs::path file = options.output;
  return file.replace_extension("best" + file.extension().string());
}

void require_best_file(const TrainArguments& options, const Watch& watch, const LoopState& loop) {
  if (!watch.keeps_best) return;
  const fs::path file = best_file(options);
  require_writable(file);
  std::error_code failure;
  if (loop.best && !fs::exists(file, failure)) {
    throw Error(
        fmt::format("the best model so far, of epoch {}, is no longer in '{}': restore it, or "
                    "resume with --keep last",
                    loop.best->epoch, file.string()),
        ErrorCode::file);
  }
}

std::vector<int64_t> labels_to_balance(const Feeds& feeds, const Watch& watch) {
  constexpr int64_t kUnbalanced = 5;
  if (!watch.draws_balanced) {
    auto classes = feeds.class_counts();
    std::erase_if(classes, [](const auto& each) { return each.second == 0; });
    if (classes.empty()) return {};
    using Class = std::pair<std::string, int64_t>;
    const auto [least, most] = std::ranges::minmax_element(classes, {}, &Class::second);
    if (most->second > kUnbalanced * least->second) {
      fmt::print(stderr,
                 "hint: classes are unbalanced, {} examples of '{}' and {} of '{}': --balance "
                 "sample draws each class equally often\n",
                 most->second, most->first, least->second, least->first);
    }
    return {};
  }
  const Tensor* array = class_labels(feeds);
  if (!array) {
    throw Error(
        "--balance sample needs classes: the data has no array of one label for each example, an "
        "integer or 0.0 and 1.0");
  }
  std::vector<int64_t> labels;
  for (int64_t row = 0; row < feeds.size(); ++row) {
    labels.push_back(static_cast<int64_t>(array->number(feeds.place(row))));
  }
  return labels;
}

std::vector<int64_t> hold_out(Feeds& feeds, const Watch& watch, uint64_t seed) {
  if (!watch.split) return {};
  std::vector<int64_t> labels;
  if (const Tensor* array = feeds.labels()) {
    for (int64_t row = 0; row < feeds.size(); ++row) {
      labels.push_back(array->integer(feeds.place(row)));
    }
  }
  note_single_examples(feeds, labels);
  Split parts = split(feeds.size(), labels, *watch.split, seed);
  for (auto* rows : {&parts.training, &parts.validation}) {
    for (int64_t& row : *rows) row = feeds.place(row);
  }
  feeds.select(std::move(parts.training));
  return std::move(parts.validation);
}

}  // namespace onward::cli
