// The losses that a recipe can name.

#include <fmt/format.h>

#include <algorithm>

#include "ir/suggestion.h"
#include "onward/error.h"
#include "recipe/algorithm.h"
#include "recipe/loss_def.h"

namespace onward {
namespace {

Expr softmax_cross_entropy(const LossParts& parts, Expr logits, Expr label) {
  std::vector<NamedAttribute> attributes = {
      {"reduction", std::string(to_string(parts.recipe.reduction))}};
  if (parts.recipe.ignore_index) attributes.push_back({"ignore_index", *parts.recipe.ignore_index});
  return logits.builder().add("SoftmaxCrossEntropyLoss", values({logits, label}), logits.dtype(),
                              attributes);
}

Expr squared_error(const LossParts&, Expr prediction, Expr label) {
  const Expr difference = prediction - label;
  return difference * difference;
}

// Abs has the derivative 0 at 0, as in both frameworks.
Expr absolute_error(const LossParts&, Expr prediction, Expr label) {
  const Expr difference = prediction - label;
  return difference.builder().add("Abs", {difference.value()}, difference.dtype());
}

// max(x, 0) - x z + log(1 + exp(-|x|)), with (x + |x|) / 2 for max(x, 0): so its derivative at 0,
// where a model that starts from zeros is, is the true one, 1/2 - z.
Expr binary_cross_entropy(const LossParts& parts, Expr x, Expr z) {
  const auto number = [&](const std::string& name, double value) {
    return x.builder().expr(parts.algorithm.constant(name, value, x.dtype()));
  };
  const Expr magnitude = x.builder().add("Abs", {x.value()}, x.dtype());
  const Expr positive_part = (x + magnitude) * number("half", 0.5);
  return positive_part - x * z + log(number("one", 1) + exp(-magnitude));
}

}  // namespace

const std::vector<LossDef>& losses() {
  static const std::vector<LossDef> table = {
      {.name = "softmax_cross_entropy",
       .label = Label::classes,
       .inside = {"Softmax", "LogSoftmax"},
       .ignores_labels = true,
       .whole = softmax_cross_entropy,
       .node = "SoftmaxCrossEntropyLoss",
       .torch = {"CrossEntropyLoss", "cross_entropy"},
       .keras = {"SparseCategoricalCrossentropy", "sparse_categorical_crossentropy",
                 "from_logits=True"}},
      {.name = "mse",
       .each = squared_error,
       .torch = {"MSELoss", "mse_loss"},
       .keras = {"MeanSquaredError", "mean_squared_error"}},
      {.name = "l1",
       .each = absolute_error,
       .torch = {"L1Loss", "l1_loss"},
       .keras = {"MeanAbsoluteError", "mean_absolute_error"}},
      {.name = "bce_with_logits",
       .inside = {"Sigmoid"},
       .each = binary_cross_entropy,
       .torch = {"BCEWithLogitsLoss", "binary_cross_entropy_with_logits"},
       .keras = {"BinaryCrossentropy", "binary_crossentropy", "from_logits=True"}},
  };
  return table;
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
