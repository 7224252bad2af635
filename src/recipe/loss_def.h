#pragma once

// The table of losses: a row for each that a recipe can name. Parsing, checks, the graph,
// recognition, export and import are derived from it, so that a new one is one row.

#include <span>
#include <string_view>
#include <vector>

#include "ops/builder.h"
#include "recipe/optimizer_def.h"

namespace onward {

class Algorithm;
struct Recipe;

/// What the prediction is compared with.
enum class Label : uint8_t {
  like_prediction,  // of its type and shape
  classes,          // i64, the prediction's shape without the classes, which are in dimension 1
  shares,           // of its type and shape, for each class how much it is meant
};

/// The class that a framework has for the loss; empty where it has none that is the same.
struct LossClass {
  std::string_view name;            // "MSELoss"
  std::string_view function;        // "mse_loss"
  std::string_view arguments = {};  // that make the class this loss: "from_logits=True"
};

/// What a formula is written with, besides prediction and label.
struct LossParts {
  const Recipe& recipe;
  Algorithm& algorithm;

  /// The value of a setting that the loss has.
  double operator[](std::string_view setting) const;
  /// A constant of the type of `like`. One name means one number.
  Expr number(Expr like, const std::string& name, double value) const;
};

struct LossDef {
  std::string_view name;
  Label label = Label::like_prediction;
  /// A model's last functions that the loss has inside itself: it reads what comes before them.
  std::vector<std::string_view> inside = {};
  /// Numbers that Recipe::loss_settings may have.
  std::vector<SettingDef> settings = {};
  /// Writes the loss of each element, of which the mean or the sum is taken; or all of the loss,
  /// where it has its own way to take a mean.
  Expr (*each)(const LossParts&, Expr prediction, Expr label) = nullptr;
  Expr (*whole)(const LossParts&, Expr prediction, Expr label) = nullptr;
  /// The standard's node, by which a file without a hint shows the loss.
  std::string_view node = {};
  LossClass torch = {};
  LossClass keras = {};

  bool reads_logits() const { return !inside.empty(); }
  /// Whether the prediction has classes, in dimension 1 or in Recipe::class_axis.
  bool has_classes() const { return label != Label::like_prediction; }
  /// Recipe::class_weights are settings of it, and Recipe::ignore_index.
  bool weighs_classes() const { return has_classes(); }
  bool ignores_labels() const { return label == Label::classes; }
  const SettingDef* find(std::string_view setting) const;
};

const std::vector<LossDef>& losses();
/// Null for a custom loss. Throws an Error that lists what there is.
const LossDef* find_loss(std::string_view name);
/// Those of the rows; "custom" is no name that a user gives.
std::vector<std::string_view> loss_names();
/// Whether anything about a recipe's loss is not as its row has it, but for reduction and
/// ignore_index.
bool has_loss_settings(const Recipe& recipe);
/// Throws an Error where a recipe has a setting of another loss, or a number that can't be meant.
void check_loss_settings(const Recipe& recipe);
/// A setting of any loss, once, with the losses that have it. None has the name of an optimizer's.
std::vector<SettingUse> loss_settings();

}  // namespace onward
