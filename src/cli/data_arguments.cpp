#include "cli/data_arguments.h"

#include <fmt/format.h>

#include <charconv>

#include "data/image_folder.h"
#include "data/mask_folder.h"
#include "format/load.h"
#include "format/save.h"
#include "grad/step.h"
#include "ir/utf8.h"
#include "onward/error.h"
#include "proto/mapped_tensors.h"
#include "runtime/parallel.h"
#include "train/metrics.h"
#include "train/preprocess.h"
#include "train/step_parts.h"

namespace onward::cli {
namespace {

/// All of a text as a number.
template <typename T>
std::optional<T> number_in(std::string_view text) {
  T number{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<double> numbers_in(const char* option, std::string_view text) {
  std::vector<double> numbers;
  for (size_t first = 0; first <= text.size();) {
    const size_t comma = std::min(text.find(',', first), text.size());
    const auto number = number_in<double>(text.substr(first, comma - first));
    if (!number) {
      throw Error(fmt::format("{} expects numbers such as 0.5 or 0.485,0.456,0.406, not '{}'",
                              option, text));
    }
    numbers.push_back(*number);
    first = comma + 1;
  }
  return numbers;
}

/// "224" or "224x320".
std::array<int64_t, 2> size_in(const std::string& text) {
  const size_t cross = text.find('x');
  const auto height = number_in<int64_t>(std::string_view(text).substr(0, cross));
  const auto width = cross == std::string::npos
                         ? height
                         : number_in<int64_t>(std::string_view(text).substr(cross + 1));
  if (!height || !width) {
    throw Error(fmt::format("--image-size expects HEIGHTxWIDTH such as 224x224, not '{}'", text));
  }
  return {*height, *width};
}

std::optional<int64_t> classes_in(const Value* scores) {
  const bool has_pixels = scores && scores->type.shape && scores->type.shape->size() > 2;
  return has_pixels ? (*scores->type.shape)[1].value : std::nullopt;
}

void add_preprocess(const DataArguments& arguments, DataOptions& options) {
  try {
    if (!arguments.preprocess.empty()) {
      Model model = load(arguments.preprocess);
      read_mapped(model);
      options.preprocess.model = to_bytes(model);
    }
    if (options.preprocess.model.empty()) return;
    options.preprocess = preprocess_of(options.preprocess.model);
    options.preprocess.is_asked_for = !arguments.preprocess.empty();
  } catch (Error& error) {
    throw error.add_context(arguments.preprocess.empty()
                                ? "in the preprocessing that the model keeps"
                                : fmt::format("in the preprocessing '{}'", arguments.preprocess));
  }
  const bool has_others = !arguments.size.empty() || arguments.resize > 0 ||
                          arguments.scale_argument->given() || !arguments.mean.empty() ||
                          !arguments.std.empty();
  if (has_others) {
    throw Error(
        "a preprocessing model is in place of --image-size, --resize, --scale, --mean and --std: "
        "omit them");
  }
}

/// By the loss of the training, or the model's output of scores for each pixel.
MaskValues mask_values_of(const Model& model) {
  for (size_t info = 0; info < model.training.size(); ++info) {
    if (!model.training[info].algorithm) continue;
    const Model step = join_step(model, info);
    const StepMetrics metrics = find_metrics(step, model, info);
    if (metrics.how.task != Task::classes) continue;
    return {.classes = classes_in(find_value(step, metrics.scores)),
            .ignored = metrics.how.ignored};
  }
  const Type labels = Type::tensor(DType::i64, Shape{Dim{}, Dim{}, Dim{}});
  return {.classes = classes_in(find_scores(*model.graph, labels)), .ignored = {}};
}

}  // namespace

void add_data_options(Command& command, DataArguments* arguments) {
  command
      .option("--image-size", &arguments->size,
              "size of images, where the model's input leaves it open")
      .value_name("HEIGHTxWIDTH");
  command
      .option("--resize", &arguments->resize,
              "images: length of the shorter side, before the center is cropped")
      .at_least(1)
      .default_name("just covers the input");
  arguments->scale_argument =
      command
          .number("--scale", &arguments->scale,
                  "images: factor for samples from 0 to 255, before --mean and --std")
          .default_name("1/255");
  command
      .option("--mean", &arguments->mean,
              "images: subtracted from scaled samples; one number, or one for each channel")
      .value_name("M[,M,M]")
      .default_name("none");
  command
      .option("--std", &arguments->std,
              "images: what samples less the mean are divided by; likewise")
      .value_name("S[,S,S]")
      .default_name("1");
  command
      .option(
          "--preprocess", &arguments->preprocess,
          "images: a model that makes the input of each image, from its pixels u8[H,W,3] or its "
          "file u8[length], in place of all that; table: the features of each row, from those "
          "f32[K]; it is kept with the trained model")
      .value_name("FILE.onnx");
  command.flag("--skip-unreadable", &arguments->skips_unreadable,
               "images: read all of them first, and leave out those that cannot be decoded");
  command.option("--label", &arguments->label, "table: the column of labels")
      .value_name("COLUMN")
      .default_name("label");
  command.option("--ignore", &arguments->ignored, "table: leave out a column, such as an id")
      .value_name("COLUMN");
  command
      .option("--categorical", &arguments->categorical,
              "table: a column of numbers that stand for categories")
      .value_name("COLUMN");
  command.flag("--standardize", &arguments->standardize,
               "table: scale columns of numbers to a mean of 0 and a standard deviation of 1");
}

void add_masks(Command& command, DataArguments* arguments) {
  command
      .option("--masks", &arguments->masks,
              "segmentation: the folder of masks, which have the names of their images")
      .value_name("FOLDER")
      .default_name("masks/ beside images/");
}

void add_refit(Command& command, DataArguments* arguments) {
  command.flag(
      "--refit", &arguments->refit,
      "learn classes and columns from this data, and forget those of the model's training");
}

DataOptions data_options(const DataArguments& arguments, const Model& model) {
  DataOptions options = data_options_of(model);
  ImageOptions& images = options.images;
  if (!arguments.size.empty()) images.size = size_in(arguments.size);
  if (arguments.resize > 0) images.resize = arguments.resize;
  if (arguments.scale_argument && arguments.scale_argument->given()) {
    images.scale = arguments.scale;
  }
  if (!arguments.mean.empty()) images.mean = numbers_in("--mean", arguments.mean);
  if (!arguments.std.empty()) images.std = numbers_in("--std", arguments.std);
  options.masks = arguments.masks;
  if (arguments.refit) {
    options.classes.clear();
    options.schema.reset();
  }
  options.table = {.label = arguments.label,
                   .ignored = arguments.ignored,
                   .categorical = arguments.categorical,
                   .standardize = arguments.standardize};
  if (options.schema && options.table != TableOptions()) {
    throw Error(
        "the model keeps how the columns of its training are read: omit --label, --ignore, "
        "--categorical and --standardize, or train with --refit");
  }
  require_valid(images);
  add_preprocess(arguments, options);
  return options;
}

void add_words(const DataArguments& arguments, std::vector<std::string>& words) {
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--image-size", arguments.size);
  if (arguments.resize > 0) add("--resize", std::to_string(arguments.resize));
  if (arguments.scale_argument->given()) add("--scale", fmt::format("{}", arguments.scale));
  add("--masks", arguments.masks);
  add("--mean", arguments.mean);
  add("--std", arguments.std);
  add("--preprocess", arguments.preprocess);
  if (arguments.skips_unreadable) words.emplace_back("--skip-unreadable");
  add("--label", arguments.label);
  for (const std::string& column : arguments.ignored) add("--ignore", column);
  for (const std::string& column : arguments.categorical) add("--categorical", column);
  if (arguments.standardize) words.emplace_back("--standardize");
  if (arguments.refit) words.emplace_back("--refit");
}

void require_classes_fit(Dataset& data, const Model& model) {
  if (data.masks()) data.set_mask_values(mask_values_of(model));
  const auto labels = data.arrays().find(kLabelArray);
  const auto classes = static_cast<int64_t>(data.options().classes.size());
  if (classes == 0 || labels == data.arrays().end()) return;
  const Value* scores = find_scores(*model.graph, labels->second.type());
  if (!scores) return;
  const auto scored = (*scores->type.shape)[1].value;
  if (!scored || classes <= *scored) return;
  throw Error(
      fmt::format("the data has {} classes, but the model's output '{}' {} has scores for {}: "
                  "leave out classes, or give the model's last layer as many outputs",
                  classes, scores->name(), to_string(scores->type), *scored),
      ErrorCode::data);
}

std::vector<int64_t> skip_unreadable(Feeds& feeds, const DataArguments& arguments) {
  std::vector<int64_t> skipped;
  if (!arguments.skips_unreadable) return skipped;
  for (const auto& [place, reason] : feeds.skip_unreadable(threads())) {
    fmt::print(stderr, "warning: skipped: {}\n", reason);
    skipped.push_back(place);
  }
  return skipped;
}

void warn_of_skipped(size_t images) {
  if (images == 0) return;
  fmt::print(stderr, "warning: {} image{} skipped, as {} cannot be decoded\n", images,
             images == 1 ? " was" : "s were", images == 1 ? "it" : "they");
}

void warn_of_ignored(const Dataset& data, const std::string& where) {
  std::vector<std::string> ignored;
  if (data.images()) ignored = data.images()->ignored();
  if (data.masks()) {
    const auto& more = data.masks()->files().ignored();
    ignored.insert(ignored.end(), more.begin(), more.end());
  }
  if (ignored.empty()) return;
  fmt::print(stderr,
             "warning: {} file{} in '{}' ignored, as the name is not that of an image: '{}'{}\n",
             ignored.size(), ignored.size() == 1 ? "" : "s", where, printable(ignored.front()),
             ignored.size() == 1 ? "" : " and others");
}

}  // namespace onward::cli
