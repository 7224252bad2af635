#include "recipe/recipe.h"

#include <fmt/format.h>

#include <span>

#include "onward/error.h"

namespace onward {
namespace {

template <typename Kind>
struct Named {
  Kind kind;
  std::string_view name;
};

constexpr Named<LossKind> kLosses[] = {
    {LossKind::softmax_cross_entropy, "softmax_cross_entropy"},
    {LossKind::mse, "mse"},
    {LossKind::bce_with_logits, "bce_with_logits"},
    {LossKind::custom, "custom"},
};
constexpr Named<LossReads> kLossReads[] = {{LossReads::logits, "logits"},
                                           {LossReads::output, "output"}};
constexpr Named<OptimizerKind> kOptimizers[] = {
    {OptimizerKind::sgd, "sgd"},           {OptimizerKind::momentum, "momentum"},
    {OptimizerKind::nesterov, "nesterov"}, {OptimizerKind::adam, "adam"},
    {OptimizerKind::adamw, "adamw"},       {OptimizerKind::adagrad, "adagrad"},
};
constexpr Named<Formula> kFormulas[] = {
    {Formula::torch, "torch"}, {Formula::keras, "keras"}, {Formula::onnx, "onnx"}};
constexpr Named<BatchNormMode> kBatchNormModes[] = {{BatchNormMode::frozen, "frozen"},
                                                    {BatchNormMode::batch, "batch"}};
constexpr Named<BatchVariance> kBatchVariances[] = {{BatchVariance::biased, "biased"},
                                                    {BatchVariance::unbiased, "unbiased"}};

template <typename Kind>
std::string_view name_of(std::span<const Named<Kind>> table, Kind kind) {
  for (const auto& each : table) {
    if (each.kind == kind) return each.name;
  }
  throw Bug("an enumerator has no name");
}

template <typename Kind>
Kind find(std::span<const Named<Kind>> table, std::string_view what, std::string_view name) {
  std::vector<std::string_view> all;
  for (const auto& each : table) {
    if (each.name == name) return each.kind;
    all.push_back(each.name);
  }
  throw Error(fmt::format("there is no {} '{}': choose {}", what, name, fmt::join(all, ", ")));
}

/// What the frameworks give an optimizer of which nothing but the kind is said.
struct Defaults {
  Formula formula;
  OptimizerKind kind;
  double learning_rate;
  double epsilon = 0;
  double weight_decay = 0;
  double initial_accumulator = 0;
};

constexpr Defaults kDefaults[] = {
    {.formula = Formula::torch, .kind = OptimizerKind::sgd, .learning_rate = 1e-3},
    {.formula = Formula::torch, .kind = OptimizerKind::momentum, .learning_rate = 1e-3},
    {.formula = Formula::torch, .kind = OptimizerKind::nesterov, .learning_rate = 1e-3},
    {.formula = Formula::torch,
     .kind = OptimizerKind::adam,
     .learning_rate = 1e-3,
     .epsilon = 1e-8},
    {.formula = Formula::torch,
     .kind = OptimizerKind::adamw,
     .learning_rate = 1e-3,
     .epsilon = 1e-8,
     .weight_decay = 1e-2},
    {.formula = Formula::torch,
     .kind = OptimizerKind::adagrad,
     .learning_rate = 1e-2,
     .epsilon = 1e-10},
    {.formula = Formula::keras, .kind = OptimizerKind::sgd, .learning_rate = 1e-2},
    {.formula = Formula::keras, .kind = OptimizerKind::momentum, .learning_rate = 1e-2},
    {.formula = Formula::keras, .kind = OptimizerKind::nesterov, .learning_rate = 1e-2},
    {.formula = Formula::keras,
     .kind = OptimizerKind::adam,
     .learning_rate = 1e-3,
     .epsilon = 1e-7},
    {.formula = Formula::keras,
     .kind = OptimizerKind::adamw,
     .learning_rate = 1e-3,
     .epsilon = 1e-7,
     .weight_decay = 4e-3},
    {.formula = Formula::keras,
     .kind = OptimizerKind::adagrad,
     .learning_rate = 1e-3,
     .epsilon = 1e-7,
     .initial_accumulator = 0.1},
    // The standard gives no learning rate a default.
    {.formula = Formula::onnx, .kind = OptimizerKind::sgd, .learning_rate = 1e-2},
    {.formula = Formula::onnx, .kind = OptimizerKind::momentum, .learning_rate = 1e-2},
    {.formula = Formula::onnx, .kind = OptimizerKind::nesterov, .learning_rate = 1e-2},
    {.formula = Formula::onnx, .kind = OptimizerKind::adam, .learning_rate = 1e-3, .epsilon = 1e-6},
    {.formula = Formula::onnx,
     .kind = OptimizerKind::adamw,
     .learning_rate = 1e-3,
     .epsilon = 1e-6},
    {.formula = Formula::onnx,
     .kind = OptimizerKind::adagrad,
     .learning_rate = 1e-2,
     .epsilon = 1e-6},
};

}  // namespace

OptimizerSettings default_settings(OptimizerKind kind, Formula formula) {
  for (const Defaults& each : kDefaults) {
    if (each.kind != kind || each.formula != formula) continue;
    return {.kind = kind,
            .formula = formula,
            .learning_rate = each.learning_rate,
            .weight_decay = each.weight_decay,
            .epsilon = each.epsilon,
            .initial_accumulator = each.initial_accumulator,
            .float32_numbers = formula == Formula::keras};
  }
  throw Bug("an optimizer has no defaults");
}

std::string_view to_string(LossKind loss) { return name_of<LossKind>(kLosses, loss); }
std::string_view to_string(LossReads reads) { return name_of<LossReads>(kLossReads, reads); }
std::string_view to_string(OptimizerKind kind) { return name_of<OptimizerKind>(kOptimizers, kind); }
std::string_view to_string(Formula formula) { return name_of<Formula>(kFormulas, formula); }
std::string_view to_string(BatchNormMode mode) {
  return name_of<BatchNormMode>(kBatchNormModes, mode);
}
std::string_view to_string(BatchVariance variance) {
  return name_of<BatchVariance>(kBatchVariances, variance);
}

LossKind loss_kind(std::string_view name) { return find<LossKind>(kLosses, "loss", name); }
LossReads loss_reads_of(std::string_view name) {
  return find<LossReads>(kLossReads, "value that a loss reads", name);
}
OptimizerKind optimizer_kind(std::string_view name) {
  return find<OptimizerKind>(kOptimizers, "optimizer", name);
}
Formula formula_of(std::string_view name) { return find<Formula>(kFormulas, "formula", name); }
BatchNormMode batch_norm_mode(std::string_view name) {
  return find<BatchNormMode>(kBatchNormModes, "mode of BatchNormalization", name);
}
BatchVariance batch_variance_of(std::string_view name) {
  return find<BatchVariance>(kBatchVariances, "batch variance", name);
}

}  // namespace onward
