#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "format/atomic_file.h"
#include "format/load.h"
#include "format/save.h"
#include "ir/utf8.h"
#include "onward/error.h"
#include "recipe/loss_def.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"

namespace onward::cli {
namespace {

using Json = nlohmann::ordered_json;

/// A setting of optimizers that the user may leave to the optimizer's own default.
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

struct PrepareArguments {
  std::string model, out, loss, model_output;
  std::string optimizer = "adam", formula = "torch", batch_norm = "frozen";
  std::string reduction = "mean", batch_variance = "biased", dropout = "on",
              keras_backend = "tensorflow";
  std::vector<Setting> settings = setting_options();
  double batch_momentum = 0;
  std::vector<Argument> given;  // one for each setting
  std::vector<Argument> given_momentum, given_backend;
  std::vector<std::string> train, freeze;
  bool replace = false, force = false, json = false, full = false;
};

bool is_file(const std::string& loss) {
  return loss.ends_with(".onnx") || loss.ends_with(".onnxtxt");
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
  command
      .option("--train", &options->train,
              "train the tensors whose names match (* and ?), whatever their roles")
      .value_name("PATTERN");
  command
      .option("--freeze", &options->freeze,
              "freeze the tensors whose names match, unless --train matches too")
      .value_name("PATTERN");
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
