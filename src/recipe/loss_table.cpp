// The losses that a recipe can name.

#include <fmt/format.h>

#include <algorithm>

#include "ir/suggestion.h"
#include "onward/error.h"
#include "recipe/algorithm.h"
#include "recipe/loss_formulas.h"

namespace onward {
namespace {

constexpr SettingDef kLabelSmoothing = {
    .name = "label_smoothing", .range = SettingRange::fraction, .option = "label_smoothing"};

}  // namespace

const std::vector<LossDef>& losses() {
  static const std::vector<LossDef> table = {
      {.name = "softmax_cross_entropy",
       .label = Label::classes,
       .inside = {"Softmax", "LogSoftmax"},
       .settings = {kLabelSmoothing},
       .whole = softmax_cross_entropy,
       .node = "SoftmaxCrossEntropyLoss",
       .torch = {"CrossEntropyLoss", "cross_entropy"},
       .keras = {"SparseCategoricalCrossentropy", "sparse_categorical_crossentropy",
                 "from_logits=True"}},
      {.name = "categorical_cross_entropy",
       .label = Label::shares,
       .inside = {"Softmax", "LogSoftmax"},
       .settings = {kLabelSmoothing},
       .each = categorical_cross_entropy},
      {.name = "nll",
       .label = Label::classes,
       .whole = negative_log_likelihood,
       .torch = {"NLLLoss", "nll_loss"}},
      {.name = "mse",
       .each = squared_error,
       .torch = {"MSELoss", "mse_loss"},
       .keras = {"MeanSquaredError", "mean_squared_error"}},
      {.name = "l1",
       .each = absolute_error,
       .torch = {"L1Loss", "l1_loss"},
       .keras = {"MeanAbsoluteError", "mean_absolute_error"}},
      {.name = "smooth_l1",
       .settings = {{.name = "beta", .preset = 1, .option = "beta"}},
       .each = smooth_l1,
       .torch = {"SmoothL1Loss", "smooth_l1_loss"}},
      {.name = "huber",
       .settings =
           {{.name = "delta", .preset = 1, .range = SettingRange::positive, .option = "delta"}},
       .each = huber,
       .torch = {"HuberLoss", "huber_loss"},
       .keras = {"Huber", "huber"}},
      {.name = "bce_with_logits",
       .inside = {"Sigmoid"},
       .settings = {{.name = "pos_weight", .preset = 1, .option = "pos_weight"},
                    {.name = "focal_gamma"},
                    {.name = "focal_alpha", .range = SettingRange::fraction}},
       .each = binary_cross_entropy_of_logits,
       .torch = {"BCEWithLogitsLoss", "binary_cross_entropy_with_logits"},
       .keras = {"BinaryCrossentropy", "binary_crossentropy", "from_logits=True"}},
      {.name = "bce", .each = binary_cross_entropy, .torch = {"BCELoss", "binary_cross_entropy"}},
      {.name = "kl_divergence",
       .settings = {{.name = "log_target", .range = SettingRange::on_off, .option = "log_target"}},
       .each = kl_divergence,
       .torch = {"KLDivLoss", "kl_div"}},
      {.name = "poisson",
       .settings = {{.name = "log_input",
                     .preset = 1,
                     .range = SettingRange::on_off,
                     .option = "log_input"},
                    {.name = "log_epsilon", .preset = 1e-8, .option = "eps"}},
       .each = poisson,
       .torch = {"PoissonNLLLoss", "poisson_nll_loss"}},
      {.name = "hinge", .each = hinge},
      {.name = "squared_hinge", .each = squared_hinge},
      {.name = "cosine_similarity", .each = cosine_similarity},
  };
  return table;
}

const SettingDef* LossDef::find(std::string_view setting) const {
  const auto found = std::ranges::find(settings, setting, &SettingDef::name);
  return found == settings.end() ? nullptr : &*found;
}

Expr LossParts::number(Expr like, const std::string& name, double value) const {
  return like.builder().expr(algorithm.constant(name, value, like.dtype()));
}

double LossParts::operator[](std::string_view setting) const {
  const SettingDef* def = find_loss(recipe.loss)->find(setting);
  if (!def) throw Bug(fmt::format("{} is asked for its {}", recipe.loss, setting));
  const auto given = recipe.loss_settings.find(setting);
  return given == recipe.loss_settings.end() ? def->preset : given->second;
}

const LossDef* find_loss(std::string_view name) {
  if (name == kCustomLoss) return nullptr;
  const auto found = std::ranges::find(losses(), name, &LossDef::name);
  if (found != losses().end()) return &*found;
  throw Error(unknown_name("loss", name, loss_names()));
}

std::vector<std::string_view> loss_names() {
  std::vector<std::string_view> names;
  for (const LossDef& each : losses()) names.push_back(each.name);
  return names;
}

}  // namespace onward
