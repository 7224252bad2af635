#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "ir/copy.h"
#include "onward/error.h"
#include "python/bindings.h"
#include "python/names.h"
#include "recipe/loss_def.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"
#include "recipe/schedule_def.h"

namespace onward::python {
namespace {

using namespace nb::literals;

bool is_among(const std::vector<SettingUse>& settings, const std::string& name) {
  return std::ranges::find(settings, name, &SettingUse::name) != settings.end();
}

std::vector<ParameterGroup> groups_from(const nb::dict& groups) {
  std::vector<ParameterGroup> result;
  for (const auto& [pattern, settings] : groups) {
    ParameterGroup& group = result.emplace_back();
    group.pattern = text_from(pattern, "the pattern of a group");
    for (const auto& [key, value] : nb::cast<nb::dict>(settings)) {
      const std::string name = text_from(key, "the name of a setting");
      group.settings[name] = number_from(value, name);
    }
  }
  return result;
}

OptimizerSettings settings_from(const std::string& kind, const std::string& formula,
                                const nb::dict& numbers, Recipe& recipe) {
  OptimizerSettings settings = default_settings(kind, formula_of(formula));
  for (const auto& [key, value] : numbers) {
    const std::string name = text_from(key, "the name of a setting");
    if (is_among(loss_settings(), name)) {
      recipe.loss_settings[name] = number_from(value, name);
    } else if (is_among(schedule_settings(), name)) {
      recipe.schedule_settings[name] = number_from(value, name);
    } else {
      settings.set(name, number_from(value, name));
    }
  }
  return settings;
}

PyModel prepared(const PyModel& model, const std::variant<std::string, PyModel>& loss,
                 const std::string& optimizer, const std::string& formula,
                 const std::optional<std::string>& model_output, const std::string& loss_reads,
                 const std::string& reduction, std::optional<int64_t> ignore_index,
                 const std::vector<double>& class_weights, int64_t class_axis,
                 const std::string& schedule, std::optional<double> clip_norm,
                 std::optional<double> clip_norm_each, std::optional<double> clip_value,
                 std::optional<double> ema, const nb::dict& groups, bool decay_biases,
                 const std::vector<std::string>& train, const std::vector<std::string>& freeze,
                 const std::string& batch_norm, const std::string& batch_variance,
                 std::optional<double> batch_momentum, bool dropout, bool force,
                 std::optional<int64_t> classes, uint64_t head_seed,
                 const std::optional<PyModel>& head, const std::vector<std::string>& labels,
                 bool freeze_backbone, bool keep_batch, const std::optional<std::string>& output,
                 const nb::kwargs& settings) {
  Recipe recipe;
  if (const auto* graph = std::get_if<PyModel>(&loss)) {
    recipe.loss = kCustomLoss;
    recipe.loss_graph = graph->model;
  } else {
    recipe.loss = std::get<std::string>(loss);
    if (!find_loss(recipe.loss)) throw Error("a custom loss is given as a Model, not by name");
  }
  if (model_output && output) throw Error("output is the former name of model_output: give one");
  recipe.output = model_output ? *model_output : output.value_or("");
  recipe.loss_reads = loss_reads_of(loss_reads);
  recipe.reduction = reduction_of(reduction);
  recipe.ignore_index = ignore_index;
  recipe.class_weights = class_weights;
  recipe.class_axis = class_axis;
  recipe.schedule = schedule;
  recipe.clip = {clip_norm, clip_norm_each, clip_value};
  recipe.ema = ema;
  recipe.groups = groups_from(groups);
  recipe.decays_biases = decay_biases;
  recipe.optimizer = settings_from(optimizer, formula, settings, recipe);
  recipe.train = train;
  recipe.freeze = freeze;
  recipe.batch_norm = batch_norm_mode(batch_norm);
  recipe.batch_variance = batch_variance_of(batch_variance);
  recipe.batch_momentum = batch_momentum;
  recipe.dropout = dropout;
  recipe.force = force;
  recipe.classes = classes;
  recipe.head_seed = head_seed;
  if (head) recipe.head = head->model;
  recipe.labels = labels;
  recipe.freeze_backbone = freeze_backbone;
  recipe.keep_batch = keep_batch;
  const nb::gil_scoped_release unlocked;
  return wrap(prepare(copy(*model.model), recipe));
}

/// With the names that the tables have.
std::string prepare_help() {
  std::vector<std::string_view> settings;
  for (const SettingUse& each : optimizer_settings()) settings.push_back(public_name(each.name));
  std::vector<std::string> of_losses;
  for (const SettingUse& each : loss_settings()) {
    of_losses.push_back(fmt::format("{} ({})", each.name, each.owners));
  }
  std::vector<std::string> of_schedules;
  for (const SettingUse& each : schedule_settings()) {
    of_schedules.push_back(fmt::format("{} ({})", each.name, each.owners));
  }
  return fmt::format(
      "Makes an inference model trainable: adds loss, gradients and optimizer.\n\n"
      "loss: {}, or a Model that computes a scalar loss from the model's outputs, by name, and "
      "labels.\n"
      "optimizer: {}.\n"
      "formula: which definition of the optimizer: torch, keras or onnx.\n"
      "model_output: the model output that the loss is computed from, if there are several.\n"
      "loss_reads: 'logits' skips a final Softmax or Sigmoid that the loss contains itself; "
      "'output' takes the output as it is.\n"
      "reduction: mean or sum of the per-element losses.\n"
      "ignore_index: the label that losses of classes ignore.\n"
      "class_weights: what each class counts in losses of classes.\n"
      "class_axis: the dimension of the model output that has the classes.\n"
      "schedule: {}: how the learning rate changes from step to step.\n"
      "clip_norm, clip_norm_each, clip_value: limits of gradients: of the norm of all, of each "
      "tensor's, of each element.\n"
      "ema: keep a moving average of each parameter, NAME.ema, of which so much stays in a step.\n"
      "groups: settings of the optimizer by patterns of parameters' names.\n"
      "decay_biases: whether weight_decay applies to biases and scales of normalizations.\n"
      "train, freeze: name patterns (* and ?) that override each tensor's role.\n"
      "batch_norm: 'frozen' uses the running statistics; 'batch' uses those of each batch and "
      "updates the running ones, by a biased or unbiased batch_variance and with weight "
      "batch_momentum for the old ones.\n"
      "force: also prepare models with operators that Onward cannot train.\n"
      "classes: a new classifier for so many classes, whose weights start by head_seed.\n"
      "head: a Model in place of the classifier, which takes what that took.\n"
      "labels: names of the classes, for the model to keep.\n"
      "freeze_backbone: train the classifier or the head alone, and what train matches.\n"
      "keep_batch: leave a fixed batch size as it is, also where every node would take another.\n"
      "settings: of the optimizer: {}; of the loss: {}; of the schedule: {}.",
      fmt::join(loss_names(), ", "), fmt::join(optimizer_names(), ", "),
      fmt::join(schedule_names(), ", "), fmt::join(settings, ", "), fmt::join(of_losses, ", "),
      fmt::join(of_schedules, ", "));
}

}  // namespace

void bind_prepare(nb::module_& module) {
  static const std::string help = prepare_help();
  module.def(
      "prepare", &prepared, "model"_a, nb::kw_only(), "loss"_a, "optimizer"_a = "adam",
      "formula"_a = "torch", "model_output"_a = nb::none(), "loss_reads"_a = "logits",
      "reduction"_a = "mean", "ignore_index"_a = nb::none(),
      "class_weights"_a = std::vector<double>{}, "class_axis"_a = 1, "schedule"_a = "constant",
      "clip_norm"_a = nb::none(), "clip_norm_each"_a = nb::none(), "clip_value"_a = nb::none(),
      "ema"_a = nb::none(), "groups"_a = nb::dict(), "decay_biases"_a = true,
      "train"_a = std::vector<std::string>{}, "freeze"_a = std::vector<std::string>{},
      "batch_norm"_a = "frozen", "batch_variance"_a = "biased", "batch_momentum"_a = nb::none(),
      "dropout"_a = true, "force"_a = false, "classes"_a = nb::none(), "head_seed"_a = 0,
      "head"_a = nb::none(), "labels"_a = std::vector<std::string>{}, "freeze_backbone"_a = false,
      "keep_batch"_a = false, "output"_a = nb::none(), "settings"_a,
      nb::sig(
          "def prepare(model: Model, *, loss: str | Model, optimizer: str = 'adam', formula: "
          "str = 'torch', model_output: str | None = None, loss_reads: str = 'logits', reduction: "
          "str = 'mean', ignore_index: "
          "int | None "
          "= None, class_weights: collections.abc.Sequence[float] = (), class_axis: int = 1, "
          "schedule: str = 'constant', clip_norm: float | None = None, clip_norm_each: float | "
          "None = None, clip_value: float | None = None, ema: float | None = None, groups: "
          "collections.abc.Mapping[str, "
          "collections.abc.Mapping[str, float]] = {}, decay_biases: bool = True, "
          "train: collections.abc.Sequence[str] = "
          "(), freeze: "
          "collections.abc.Sequence[str] = (), batch_norm: str = 'frozen', batch_variance: str "
          "= 'biased', "
          "batch_momentum: float | None = None, dropout: bool = True, force: bool = False, "
          "classes: int | None = None, head_seed: int = 0, head: Model | None = None, labels: "
          "collections.abc.Sequence[str] = (), freeze_backbone: bool = False, keep_batch: bool = "
          "False, "
          "**settings: float) -> "
          "Model"),
      help.c_str());
}

}  // namespace onward::python
