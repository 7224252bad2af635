#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "cli/data_arguments.h"
#include "cli/predict_masks.h"
#include "cli/training_options.h"
#include "data/image_folder.h"
#include "data/image_reader.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "onward/error.h"
#include "proto/mapped_tensors.h"
#include "runtime/parallel.h"
#include "runtime/program.h"
#include "train/evaluator.h"
#include "train/report.h"
#include "train/step_parts.h"

namespace onward::cli {
namespace {

/// Elements of an output, for each example, that a line of text may hold.
constexpr int64_t kMaxElements = 1000;

struct PredictArguments {
  std::string model, data, output, masks;
  std::vector<std::string> feeds;
  DataArguments reading;
  int64_t batch = kEvaluationBatch, threads = 0;
  bool json = false, scores = false;
  std::optional<Argument> batch_argument;
};

/// What is written for an example: names with texts, numbers or null.
using Prediction = nlohmann::ordered_json;

std::string csv_field(const Prediction& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + '"';
}

/// An element, with as many digits as its type has; JSON has no word for what is not finite.
Prediction number_at(const Tensor& tensor, int64_t at) {
  if (is_integer(tensor.dtype()) || tensor.dtype() == DType::boolean) return tensor.integer(at);
  const double number = tensor.number(at);
  if (!std::isfinite(number)) return fmt::format("{}", number);
  if (tensor.dtype() == DType::f64) return number;
  return std::stod(fmt::format("{}", static_cast<float>(number)));
}

class Predictor {
 public:
  Predictor(const PredictArguments& options, const Model& model, const Dataset& data)
      : options_(options), classes_(data_options_of(model).classes), images_(data.images()) {
    if (classes_.empty() || model.graph->outputs().size() != 1) return;
    scores_ = find_scores(*model.graph, Type::tensor(DType::i64, Shape{Dim{}}));
  }

  Prediction predicted(const TensorMap& outputs, int64_t at, int64_t example, int64_t batch) const {
    Prediction row = named(example);
    if (scores_) {
      add_class(row, outputs.at(scores_->name()), at, batch);
      return row;
    }
    for (const auto& [name, tensor] : outputs) add_elements(row, name, tensor, at, batch);
    return row;
  }

  Prediction masked(const TensorMap& outputs, int64_t at, int64_t example,
                    const MaskWriter& masks) const {
    Prediction row = named(example);
    const std::string name = images_ ? images_->name(example) : std::to_string(example + 1);
    row["mask"] = masks.write(outputs, at, name);
    return row;
  }

 private:
  Prediction named(int64_t example) const {
    Prediction row;
    if (images_) {
      row["image"] = images_->name(example);
    } else {
      row["row"] = example + 1;
    }
    return row;
  }

  void add_class(Prediction& row, const Tensor& scores, int64_t at, int64_t batch) const {
    const int64_t count = scores.size() / batch;
    if (count != std::ssize(classes_)) {
      throw Error(
          fmt::format("output '{}' has {} scores for each example, but the model's metadata "
                      "names {} classes",
                      scores_->name(), count, classes_.size()));
    }
    int64_t best = 0;
    for (int64_t c = 1; c < count; ++c) {
      if (scores.number(at * count + c) > scores.number(at * count + best)) best = c;
    }
    row["class"] = classes_[static_cast<size_t>(best)];
    row["score"] = number_at(scores, at * count + best);
    if (!options_.scores) return;
    for (int64_t c = 0; c < count; ++c) {
      row["score of " + classes_[static_cast<size_t>(c)]] = number_at(scores, at * count + c);
    }
  }

  void add_elements(Prediction& row, const std::string& name, const Tensor& tensor, int64_t at,
                    int64_t batch) const {
    const bool by_example = !tensor.dims().empty() && tensor.dims()[0] == batch;
    const int64_t count = by_example ? tensor.size() / batch : 0;
    if (count < 1 || count > kMaxElements || is_complex(tensor.dtype())) {
      throw Error(
          fmt::format("output '{}' {} is no list of up to {} numbers for each of {} "
                      "examples: use `onward run`, which writes arrays, or --masks for the classes "
                      "of pixels",
                      name, to_string(tensor.type()), kMaxElements, batch));
    }
    for (int64_t i = 0; i < count; ++i) {
      const std::string column = count == 1 ? name : fmt::format("{}[{}]", name, i);
      if (tensor.dtype() == DType::string) {
        row[column] = tensor.strings()[static_cast<size_t>(at * count + i)];
      } else {
        row[column] = number_at(tensor, at * count + i);
      }
    }
  }

  const PredictArguments& options_;
  std::vector<std::string> classes_;
  std::shared_ptr<const ImageFolder> images_;
  const Value* scores_ = nullptr;
};

/// Lines of CSV with the names in the first, or of JSON.
class PredictionWriter {
 public:
  explicit PredictionWriter(const PredictArguments& options) : options_(options) {}

  void add(const Prediction& row) {
    if (options_.json) return put(row.dump(-1, ' ', false, Prediction::error_handler_t::replace));
    std::string names, values;
    for (const auto& [name, value] : row.items()) {
      names += (names.empty() ? "" : ",") + csv_field(name);
      values += (values.empty() ? "" : ",") + csv_field(value);
    }
    if (!std::exchange(has_names_, true)) put(names);
    put(values);
  }

  /// A file appears whole or not at all.
  void finish() {
    if (options_.output.empty()) return;
    write_atomically(options_.output,
                     [&](int descriptor) { write_all(descriptor, text_.data(), text_.size()); });
  }

 private:
  void put(const std::string& line) {
    if (options_.output.empty()) {
      fmt::print("{}\n", line);
    } else {
      text_ += line + '\n';
    }
  }

  const PredictArguments& options_;
  std::string text_;
  bool has_names_ = false;
};

void run_predict(const PredictArguments& options) {
  if (!options.output.empty()) require_writable(options.output);
  const Threads threads(thread_count(options.threads));
  Model model = load(options.model);
  read_mapped(model);
  DataOptions how = data_options(options.reading, model);
  how.is_labeled = false;
  const Dataset data = open_dataset(options.data, how);
  warn_of_ignored(data, options.data);
  Feeds feeds(data, input_slots(model, {}), array_names(options.feeds));
  const size_t skipped = skip_unreadable(feeds, options.reading).size();
  const int64_t batch = batch_size(feeds, *options.batch_argument, options.batch);
  const Predictor predictor(options, model, data);
  std::optional<MaskWriter> masks;
  if (!options.masks.empty()) masks.emplace(model, options.masks);
  State state(model);
  Program program(graph_alone(model, *model.graph));
  PredictionWriter writer(options);
  ProgressBar bar;
  std::vector<int64_t> rows(static_cast<size_t>(feeds.size()));
  std::iota(rows.begin(), rows.end(), 0);
  feeds.expect(rows, {.examples = 2 * std::min(batch, feeds.size()), .threads = onward::threads()});
  for (int64_t first = 0; first < feeds.size(); first += std::min(batch, feeds.size() - first)) {
    const int64_t count = std::min(batch, feeds.size() - first);
    std::vector<int64_t> taken(rows.begin() + first, rows.begin() + first + count);
    // A model of one batch size only gets its last example again.
    if (feeds.fixed_batch()) taken.resize(static_cast<size_t>(batch), taken.back());
    const TensorMap outputs =
        program.run(feeds.batch(taken), state, {.micro_batch = static_cast<uint64_t>(first)});
    for (int64_t i = 0; i < count; ++i) {
      const int64_t example = feeds.place(first + i);
      if (masks) {
        writer.add(predictor.masked(outputs, i, example, *masks));
      } else {
        writer.add(predictor.predicted(outputs, i, example, std::ssize(taken)));
      }
    }
    if (options.output.empty()) continue;
    bar.show(static_cast<double>(first + count) / static_cast<double>(feeds.size()), "predicting",
             "");
  }
  bar.clear();
  writer.finish();
  warn_of_skipped(skipped);
  if (!options.output.empty()) fmt::print("{}\n", options.output);
}

}  // namespace

void add_predict(CommandLine& line) {
  auto options = std::make_shared<PredictArguments>();
  Command command = line.command("predict", "Predict classes or values for images or a table");
  command.positional("MODEL", &options->model, "a trained model, with or without its training info")
      .required();
  command
      .option("--data", &options->data,
              "an image, a folder of images at any depth, a .csv or .npz file, or a folder of .npy "
              "files")
      .required();
  command.option("-o,--output", &options->output, "the file to write")
      .default_name("standard output");
  options->batch_argument =
      command.option("--batch-size", &options->batch, "examples per batch").at_least(1);
  command
      .option("--masks", &options->masks,
              "segmentation: a folder for the classes of pixels, as PNG files with the names of "
              "images")
      .value_name("FOLDER");
  command.flag("--scores", &options->scores, "write the scores of all classes");
  command.option("--feed", &options->feeds, "feed an input from an array of another name")
      .value_name("INPUT=ARRAY");
  add_data_options(command, &options->reading);
  add_threads(command, &options->threads);
  command.flag("--json", &options->json, "write JSON, one object per line, in place of CSV");
  command.footer(
      "A model that was trained on named classes gives class and score, others their outputs.\n"
      "Example: onward predict trained.onnx --data photos -o predictions.csv");
  command.run([options] { run_predict(*options); });
}

}  // namespace onward::cli
