#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "data/class_list.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "format/save.h"
#include "ir/utf8.h"
#include "onward/error.h"
#include "recipe/loss_def.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"
#include "recipe/schedule_def.h"

namespace onward::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A setting of optimizers or of losses that the user may leave to its own default.
struct Setting {
  std::string option, former;  // "--lr-decay", "--rate-decay"
  std::string_view name;
  std::string help;
  double value = 0;
};

std::string option_of(std::string_view setting) {
  std::string option = fmt::format("--{}", setting);
  std::ranges::replace(option, '_', '-');
  return option;
}

std::string setting_help(const SettingUse& use) {
  const std::string_view kNames[][2] = {{"learning_rate", "learning rate"},
                                        {"rate_decay", "learning rate decay"},
                                        {"weight_decay", "weight decay"}};
  for (const auto& [setting, words] : kNames) {
    if (use.name == setting) return fmt::format("{} ({})", words, use.owners);
  }
  return use.owners;
}

std::vector<Setting> setting_options() {
  std::vector<Setting> options;
  for (const SettingUse& each : optimizer_settings()) {
    options.push_back({.option = option_of(public_name(each.name)),
                       .former = option_of(each.name),
                       .name = each.name,
                       .help = setting_help(each)});
  }
  return options;
}

std::vector<Setting> options_of(const std::vector<SettingUse>& uses, std::string_view what) {
  std::vector<Setting> options;
  for (const SettingUse& each : uses) {
    options.push_back({.option = option_of(each.name),
                       .former = option_of(each.name),
                       .name = each.name,
                       .help = fmt::format("of the {} {}", what, each.owners)});
  }
  return options;
}

struct PrepareArguments {
  std::string model, out, loss, model_output, class_weights;
  int64_t class_axis = 1, ignore_index = 0;
  std::string optimizer = "adam", formula = "torch", batch_norm = "frozen";
  std::string reduction = "mean", batch_variance = "biased", dropout = "on",
              keras_backend = "tensorflow";
  std::vector<Setting> settings = setting_options();
  std::vector<Setting> loss_settings = options_of(onward::loss_settings(), "loss");
  std::vector<Setting> schedule_settings = options_of(onward::schedule_settings(), "schedule");
  std::string schedule = "constant";
  double clip_norm = 0, clip_norm_each = 0, clip_value = 0, ema = 0;
  std::vector<std::string> groups;
  bool no_bias_decay = false;
  double batch_momentum = 0;
  std::vector<Argument> given, given_loss, given_schedule;  // one for each setting
  std::vector<Argument> given_ignored, given_clips, given_ema;
  std::vector<Argument> given_momentum, given_backend;
  std::vector<std::string> train, freeze;
  int64_t classes = 0, head_seed = 0;
  std::vector<Argument> given_classes, given_seed;
  std::string head, labels;
  bool freeze_backbone = false, keep_batch = false;
  bool replace = false, force = false, json = false, full = false;
};

bool is_file(const std::string& loss) {
  return loss.ends_with(".onnx") || loss.ends_with(".onnxtxt");
}

std::map<std::string, double, std::less<>> given_of(const std::vector<Setting>& settings,
                                                    const std::vector<Argument>& given) {
  std::map<std::string, double, std::less<>> values;
  for (size_t i = 0; i < settings.size(); ++i) {
    if (given[i].given()) values.emplace(std::string(settings[i].name), settings[i].value);
  }
  return values;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && rest == text.data() + text.size() ? std::optional(number)
                                                                   : std::nullopt;
}

/// "0.5,1.5"
std::vector<double> numbers_of(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& part : parts_of(text)) {
    const auto number = number_in(part);
    if (!number) {
      throw Error(fmt::format(
          "--class-weights expects numbers with commas between, such as 1,2.5, not '{}'", text));
    }
    numbers.push_back(*number);
  }
  return numbers;
}

/// "head.*:lr=0.1,weight_decay=0"; names may have colons.
ParameterGroup group_of(const std::string& text) {
  const size_t colon = text.rfind(':');
  ParameterGroup group;
  if (colon != std::string::npos) group.pattern = text.substr(0, colon);
  for (const std::string& part : parts_of(text.substr(std::min(colon, text.size() - 1) + 1))) {
    const size_t equals = part.find('=');
    const auto number =
        equals == std::string::npos ? std::nullopt : number_in(part.substr(equals + 1));
    if (!number || equals == 0) {
      group.settings.clear();
      break;
    }
    group.settings[part.substr(0, equals)] = *number;
  }
  if (group.pattern.empty() || group.settings.empty()) {
    throw Error(fmt::format(
        "--group expects PATTERN:SETTING=NUMBER, such as 'head.*:lr=0.1,weight_decay=0', not '{}'",
        text));
  }
  return group;
}

Recipe recipe_from(const PrepareArguments& options) {
  Recipe recipe;
  if (is_file(options.loss)) {
    recipe.loss = kCustomLoss;
    recipe.loss_graph = std::make_shared<const Model>(load(options.loss));
  } else {
    if (!find_loss(options.loss))
      throw Error("a custom loss is an ONNX model: give --loss FILE.onnx");
    recipe.loss = options.loss;
  }
  recipe.loss_settings = given_of(options.loss_settings, options.given_loss);
  recipe.schedule = options.schedule;
  recipe.schedule_settings = given_of(options.schedule_settings, options.given_schedule);
  if (options.given_clips[0].given()) recipe.clip.norm = options.clip_norm;
  if (options.given_clips[1].given()) recipe.clip.norm_each = options.clip_norm_each;
  if (options.given_clips[2].given()) recipe.clip.value = options.clip_value;
  if (options.given_ema[0].given()) recipe.ema = options.ema;
  for (const std::string& each : options.groups) recipe.groups.push_back(group_of(each));
  recipe.decays_biases = !options.no_bias_decay;
  recipe.class_weights = numbers_of(options.class_weights);
  recipe.class_axis = options.class_axis;
  if (options.given_ignored[0].given()) recipe.ignore_index = options.ignore_index;
  recipe.output = options.model_output;
  recipe.reduction = reduction_of(options.reduction);
  recipe.optimizer = default_settings(options.optimizer, formula_of(options.formula));
  for (size_t i = 0; i < options.settings.size(); ++i) {
    const Setting& each = options.settings[i];
    if (options.given[i].given()) recipe.optimizer.set(each.name, each.value);
  }
  if (recipe.optimizer.formula() != Formula::keras && options.given_backend[0].given()) {
    throw Error(
        "--keras-backend applies to Keras's formulas only: add --formula keras, or drop it");
  }
  if (recipe.optimizer.formula() == Formula::keras) {
    recipe.optimizer.float32_numbers = options.keras_backend == "tensorflow";
  }
  recipe.train = options.train;
  recipe.freeze = options.freeze;
  if (options.given_classes[0].given()) recipe.classes = options.classes;
  if (options.given_seed[0].given()) {
    if (!recipe.classes) throw Error("--head-seed starts a new classifier: give --classes too");
    recipe.head_seed = static_cast<uint64_t>(options.head_seed);
  }
  if (!options.head.empty()) recipe.head = std::make_shared<const Model>(load(options.head));
  if (!options.labels.empty()) recipe.labels = read_class_list(options.labels);
  recipe.freeze_backbone = options.freeze_backbone;
  recipe.keep_batch = options.keep_batch;
  recipe.batch_norm = batch_norm_mode(options.batch_norm);
  recipe.batch_variance = batch_variance_of(options.batch_variance);
  if (options.given_momentum[0].given()) recipe.batch_momentum = options.batch_momentum;
  recipe.dropout = options.dropout == "on";
  recipe.replace = options.replace;
  recipe.force = options.force;
  return recipe;
}

Json describe_prepared(const PrepareArguments& options, const Prepared& prepared) {
  Json json;
  json["model"] = options.model;
  json["output"] = options.out;
  json["opset"] = prepared.model.opset("").value_or(0);
  json["ir_version"] = prepared.model.ir_version;
  const TrainingInfo& info = prepared.model.training.back();
  json["inputs"] = Json::array();
  for (const Graph* graph : {prepared.model.graph.get(), info.algorithm.get()}) {
    for (const Value* input : graph->inputs()) {
      if (input->initializer()) continue;
      json["inputs"].push_back({{"name", input->name()}, {"type", to_string(input->type)}});
    }
  }
  json["loss"] = info.algorithm->outputs()[0]->name();
  json["tensors"] = Json::array();
  for (const Decision& each : prepared.decisions) {
    json["tensors"].push_back({{"name", each.name},
                               {"type", to_string(each.type)},
                               {"trained", each.trained},
                               {"reason", each.reason}});
  }
  json["notes"] = prepared.notes;
  return json;
}

/// A terminal shows the beginning of a long list; a pipe, a file and --full get all of it.
void print_decisions(const PrepareArguments& options, const Prepared& prepared, bool trained) {
  const size_t most =
      options.full || ::isatty(STDOUT_FILENO) == 0 ? std::numeric_limits<size_t>::max() : 20;
  std::vector<const Decision*> list;
  int64_t elements = 0;
  size_t width = 0;
  for (const Decision& each : prepared.decisions) {
    if (each.trained != trained) continue;
    list.push_back(&each);
    elements += element_count(*each.type.shape).value_or(0);
    if (list.size() <= most) width = std::max(width, each.name.size());
  }
  if (list.empty()) return;
  const std::string_view what = trained ? "parameter" : "element";
  fmt::print("{} ({} tensor{}, {} {}{})\n", trained ? "trained" : "not trained", list.size(),
             list.size() == 1 ? "" : "s", elements, what, elements == 1 ? "" : "s");
  for (size_t i = 0; i < std::min(most, list.size()); ++i) {
    fmt::print("  {:<{}}  {}  {}\n", printable(list[i]->name), width, to_string(list[i]->type),
               printable(list[i]->reason));
  }
  if (list.size() > most) {
    fmt::print("  ... and {} more (--full shows all)\n", list.size() - most);
  }
}

void print_text(const PrepareArguments& options, const Prepared& prepared, const Json& json) {
  print_decisions(options, prepared, true);
  print_decisions(options, prepared, false);
  for (const std::string& note : prepared.notes) fmt::print("note: {}\n", printable(note));
  std::vector<std::string> inputs;
  for (const Json& input : json["inputs"]) {
    inputs.push_back(
        fmt::format("{} {}", input["name"].get<std::string>(), input["type"].get<std::string>()));
  }
  fmt::print("{}: a training step takes {} and returns {}\n", options.out,
             printable(fmt::format("{}", fmt::join(inputs, ", "))),
             printable(json["loss"].get<std::string>()));
}

void run_prepare(const PrepareArguments& options) {
  require_writable(options.out);
  const Recipe recipe = recipe_from(options);
  Prepared prepared;
  try {
    prepared = prepare_with_reasons(load(options.model), recipe);
  } catch (Error& error) {
    error.add_context(fmt::format("in model '{}'", options.model));
    throw;
  }
  save(prepared.model, options.out);
  const Json json = describe_prepared(options, prepared);
  if (options.json) {
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    print_text(options, prepared, json);
  }
}

}  // namespace

namespace {

void add_transfer_options(Command& command, PrepareArguments& options) {
  options.given_classes.push_back(
      command
          .option("--classes", &options.classes,
                  "give the model a new classifier for so many classes, in place of its last layer")
          .at_least(1)
          .value_name("N")
          .default_name("the model's"));
  options.given_seed.push_back(
      command.option("--head-seed", &options.head_seed, "what the new classifier starts from")
          .at_least(0));
  command
      .option("--head", &options.head,
              "replace the classifier by this model, which takes what the classifier took")
      .value_name("FILE");
  command
      .option("--labels", &options.labels,
              "names of the classes, one in each line or as a JSON list, for the model to keep")
      .value_name("FILE");
  command.flag("--freeze-backbone", &options.freeze_backbone,
               "train the classifier (or the head) alone, and what --train matches");
  command.flag("--keep-batch", &options.keep_batch,
               "leave a fixed batch size as it is, also where every node would take another one");
}

}  // namespace

void add_prepare(CommandLine& line) {
  auto options = std::make_shared<PrepareArguments>();
  Command command = line.command("prepare", "Make an inference model trainable");
  command.positional("MODEL", &options->model, "an .onnx or .onnxtxt file").required();
  command.option("-o,--output", &options->out, "the training model to write").required();
  command.former_name("--out", "--output");
  command
      .option("--loss", &options->loss,
              fmt::format(
                  "{}, or an ONNX model that computes a scalar loss from the model's outputs, by "
                  "name, and labels",
                  fmt::join(loss_names(), ", ")))
      .value_name("NAME|FILE")
      .required();
  command
      .option("--model-output", &options->model_output,
              "the model output that the loss is computed from, if there are several")
      .value_name("NAME");
  command
      .option("--reduction", &options->reduction, "how per-element losses are reduced to a scalar")
      .choices({"mean", "sum"});
  for (Setting& each : options->loss_settings) {
    options->given_loss.push_back(command.number(each.option, &each.value, each.help));
  }
  command
      .option("--class-weights", &options->class_weights,
              "what each class counts, in losses of classes, with commas between")
      .value_name("NUMBERS");
  command.option("--class-axis", &options->class_axis,
                 "the dimension of the model output that has the classes; from the last one "
                 "backwards, if negative");
  options->given_ignored.push_back(
      command.option("--ignore-index", &options->ignore_index, "the label that counts for nothing")
          .default_name("none"));
  const auto names = optimizer_names();
  const std::vector<std::string> optimizers(names.begin(), names.end());
  command.option("--optimizer", &options->optimizer, "update rule").choices(optimizers);
  command
      .option("--formula", &options->formula,
              "which definition of the optimizer: exactly as PyTorch or as Keras computes it, or "
              "ONNX's own optimizer node (float32 hyperparameters)")
      .choices({"torch", "keras", "onnx"});
  options->given_backend.push_back(
      command
          .option("--keras-backend", &options->keras_backend,
                  "with --formula keras: the backend to match; on TensorFlow, Keras rounds "
                  "hyperparameters to float32, which matters to float64 models")
          .choices({"tensorflow", "jax", "torch"}));
  for (Setting& each : options->settings) {
    options->given.push_back(command.number(each.option, &each.value, each.help));
    if (each.former != each.option) command.former_name(each.former, each.option);
  }
  const auto kinds = schedule_names();
  command
      .option("--schedule", &options->schedule, "how the learning rate changes from step to step")
      .choices({kinds.begin(), kinds.end()});
  for (Setting& each : options->schedule_settings) {
    options->given_schedule.push_back(command.number(each.option, &each.value, each.help));
  }
  options->given_clips = {
      command.number("--clip-norm", &options->clip_norm,
                     "scale gradients down where the norm of all of them is larger"),
      command.number("--clip-norm-each", &options->clip_norm_each,
                     "scale each tensor's gradient down where its norm is larger"),
      command.number("--clip-value", &options->clip_value,
                     "limit each element of the gradients, above and below 0")};
  options->given_ema.push_back(
      command.number("--ema", &options->ema,
                     "keep a moving average of each parameter, NAME.ema, of which so much stays in "
                     "a step"));
  command
      .option("--group", &options->groups,
              "optimizer settings for the parameters whose names match: 'head.*:lr=0.1'")
      .value_name("PATTERN:SETTING=NUMBER,...");
  command.flag("--no-bias-decay", &options->no_bias_decay,
               "no weight decay of biases and of scales of normalizations");
  command
      .option("--train", &options->train,
              "train the tensors whose names match (* and ?), whatever their roles")
      .value_name("PATTERN");
  command
      .option("--freeze", &options->freeze,
              "freeze the tensors whose names match, unless --train matches too")
      .value_name("PATTERN");
  add_transfer_options(command, *options);
  command
      .option(
          "--bn", &options->batch_norm,
          "BatchNormalization in training: frozen uses the running statistics, batch uses those "
          "of each batch and updates the running ones")
      .choices({"frozen", "batch"});
  command
      .option(
          "--bn-variance", &options->batch_variance,
          "running variance updated with the biased (ONNX, Keras) or unbiased (PyTorch) estimate")
      .choices({"biased", "unbiased"});
  options->given_momentum.push_back(command.number(
      "--bn-momentum", &options->batch_momentum,
      "weight of the old running statistics in an update, in place of each node's own"));
  command.option("--dropout", &options->dropout, "whether Dropout is active in training")
      .choices({"on", "off"});
  command.flag("--replace", &options->replace,
               "replace the loss and optimizer that the model has already");
  command.flag("--force", &options->force,
               "write the file even if it has operators that Onward cannot train");
  command.flag("--json", &options->json, "print what is trained, and why, as JSON");
  command.flag("--full", &options->full, "do not shorten long lists");
  command.footer(
      "Prints for each tensor whether it is trained, and why. Optimizer settings that are left "
      "out\n"
      "have the framework's defaults.\n"
      "Example: onward prepare model.onnx -o training.onnx --loss softmax_cross_entropy --lr 1e-3");
  command.run([options] { run_prepare(*options); });
}

}  // namespace onward::cli
