#pragma once

// The table of losses: a row for each that a recipe can name. Parsing, checks, the graph,
// recognition, export and import are derived from it, so that a new one is one row.

#include <span>
#include <string_view>
#include <vector>

#include "ops/builder.h"

namespace onward {

class Algorithm;
struct Recipe;

/// What the prediction is compared with.
enum class Label : uint8_t {
  like_prediction,  // of its type and shape
  classes,          // i64, the prediction's shape without the classes, which are in dimension 1
};

/// The class that a framework has for the loss.
struct LossClass {
  std::string_view name;            // "MSELoss"
  std::string_view function;        // "mse_loss"
  std::string_view arguments = {};  // that make the class this loss: "from_logits=True"
};

/// What a formula is written with, besides prediction and label.
struct LossParts {
  const Recipe& recipe;
  Algorithm& algorithm;
};

struct LossDef {
  std::string_view name;
  Label label = Label::like_prediction;
  /// A model's last functions that the loss has inside itself: it reads what comes before them.
  std::vector<std::string_view> inside = {};
  /// Recipe::ignore_index is a setting of it.
  bool ignores_labels = false;
  /// Writes the loss of each element, of which the mean or the sum is taken; or all of the loss,
  /// where it has its own way to take a mean.
  Expr (*each)(const LossParts&, Expr prediction, Expr label) = nullptr;
  Expr (*whole)(const LossParts&, Expr prediction, Expr label) = nullptr;
  /// The standard's node, by which a file without a hint shows the loss.
  std::string_view node = {};
  LossClass torch = {};
  LossClass keras = {};

  bool reads_logits() const { return !inside.empty(); }
};

const std::vector<LossDef>& losses();
/// Null for a custom loss. Throws an Error that lists what there is.
const LossDef* find_loss(std::string_view name);
/// Those of the rows; "custom" is no name that a user gives.
std::vector<std::string_view> loss_names();

}  // namespace onward
