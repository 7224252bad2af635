#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "ir/copy.h"
#include "onward/error.h"
#include "python/bindings.h"
#include "python/names.h"
#include "recipe/loss_def.h"
#include "recipe/optimizer_def.h"
#include "recipe/recipe.h"

namespace onward::python {
namespace {

using namespace nb::literals;

OptimizerSettings settings_from(const std::string& kind, const std::string& formula,
                                const nb::dict& numbers) {
  OptimizerSettings settings = default_settings(kind, formula_of(formula));
  for (const auto& [key, value] : numbers) {
    const std::string name = text_from(key, "the name of a number");
    settings.set(name, number_from(value, name));
  }
  return settings;
}

PyModel prepared(const PyModel& model, const std::variant<std::string, PyModel>& loss,
                 const std::string& optimizer, const std::string& formula,
                 const std::optional<std::string>& output, const std::string& loss_reads,
                 const std::string& reduction, std::optional<int64_t> ignore_index,
                 const std::vector<std::string>& train, const std::vector<std::string>& freeze,
                 const std::string& batch_norm, const std::string& batch_variance,
                 std::optional<double> batch_momentum, bool dropout, bool force,
                 const nb::kwargs& numbers) {
  Recipe recipe;
  if (const auto* graph = std::get_if<PyModel>(&loss)) {
    recipe.loss = kCustomLoss;
    recipe.loss_graph = graph->model;
  } else {
    recipe.loss = std::get<std::string>(loss);
    if (!find_loss(recipe.loss)) throw Error("a custom loss is given as a Model");
  }
  recipe.output = output.value_or("");
  recipe.loss_reads = loss_reads_of(loss_reads);
  recipe.reduction = reduction_of(reduction);
  recipe.ignore_index = ignore_index;
  recipe.optimizer = settings_from(optimizer, formula, numbers);
  recipe.train = train;
  recipe.freeze = freeze;
  recipe.batch_norm = batch_norm_mode(batch_norm);
  recipe.batch_variance = batch_variance_of(batch_variance);
  recipe.batch_momentum = batch_momentum;
  recipe.dropout = dropout;
  recipe.force = force;
  const nb::gil_scoped_release unlocked;
  return wrap(prepare(copy(*model.model), recipe));
}

/// With the names that the tables have.
std::string prepare_help() {
  std::vector<std::string_view> numbers;
  for (const SettingUse& each : optimizer_settings()) numbers.push_back(each.name);
  return fmt::format(
      "Makes an inference model trainable: adds a training info with loss, gradients and "
      "optimizer.\n\n"
      "loss: {}, or a Model whose inputs are named like "
      "the model's outputs, and its one output the loss.\n"
      "optimizer: {}; formula: whose, torch, keras or "
      "onnx.\n"
      "output: the model's output that the loss reads, where it has several.\n"
      "loss_reads: logits, what a last Softmax or Sigmoid is computed from where the loss has that "
      "function inside itself; or output, whatever computes it.\n"
      "reduction: mean or sum of the losses of all elements.\n"
      "ignore_index: labels of this number count for nothing in softmax_cross_entropy.\n"
      "train, freeze: patterns (* and ?) of names that override what each tensor's role says.\n"
      "batch_norm: frozen, or batch: by each batch's statistics, updating the running ones with a "
      "biased or unbiased batch_variance, keeping batch_momentum of the old.\n"
      "force: prepare also what Onward can't train itself, for others to train.\n"
      "numbers: {}.",
      fmt::join(loss_names(), ", "), fmt::join(optimizer_names(), ", "), fmt::join(numbers, ", "));
}

}  // namespace

void bind_prepare(nb::module_& module) {
  static const std::string help = prepare_help();
  module.def(
      "prepare", &prepared, "model"_a, nb::kw_only(), "loss"_a, "optimizer"_a = "adam",
      "formula"_a = "torch", "output"_a = nb::none(), "loss_reads"_a = "logits",
      "reduction"_a = "mean", "ignore_index"_a = nb::none(), "train"_a = std::vector<std::string>{},
      "freeze"_a = std::vector<std::string>{}, "batch_norm"_a = "frozen",
      "batch_variance"_a = "biased", "batch_momentum"_a = nb::none(), "dropout"_a = true,
      "force"_a = false, "numbers"_a,
      nb::sig("def prepare(model: Model, *, loss: str | Model, optimizer: str = 'adam', formula: "
              "str = 'torch', output: str | None = None, loss_reads: str = 'logits', reduction: "
              "str = 'mean', ignore_index: "
              "int | None "
              "= None, train: collections.abc.Sequence[str] = "
              "(), freeze: "
              "collections.abc.Sequence[str] = (), batch_norm: str = 'frozen', batch_variance: str "
              "= 'biased', "
              "batch_momentum: float | None = None, dropout: bool = True, force: bool = False, "
              "**numbers: float) -> "
              "Model"),
      help.c_str());
}

}  // namespace onward::python
