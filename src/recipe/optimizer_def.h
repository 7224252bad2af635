#pragma once

// The table of optimizers: a row for each optimizer in each formula. Parsing, checks, the graph of
// a step, recognition, export and import are all derived from it, so that a new one is one row.

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "recipe/optimizer_settings.h"

namespace onward {

class ParameterUpdate;
class StepParts;

/// What a setting may be.
enum class SettingRange : uint8_t {
  from_zero,  // a number from 0 on
  positive,
  fraction,  // at least 0 and less than 1
  positive_fraction,
  above_one,
  count,  // a whole number from 0 on
  steps,  // a whole number from 1 on
  finite,
  on_off,
};

struct SettingDef {
  std::string_view name;
  double preset = 0;  // what the framework's own optimizer has where nothing is said
  SettingRange range = SettingRange::from_zero;
  /// The argument of the framework's class, or the attribute of the standard's node; "betas[0]" is
  /// the first element of a tuple. Empty where it has none.
  std::string_view option = {};
  /// Keras converts it with ops.cast, which rounds to float32 on TensorFlow.
  bool is_cast = false;
  /// The attribute is one minus the setting.
  bool is_complement = false;
};

/// A state tensor of each parameter's shape.
struct SlotDef {
  std::string_view name;              // in torch's state_dict; of Keras's variable
  std::string_view attribute = {};    // of Keras's optimizer, where it keeps all of them
  std::string_view starts_with = {};  // the setting that fills it at first; else zeros
  std::string_view kept_with = {};    // only where this setting is not 0
};

/// A class of the framework that is this optimizer, if `needs` is on: an argument that makes it so.
struct ClassDef {
  std::string_view name;
  std::string_view needs = {};
};

/// The standard's optimizer node.
struct NodeDef {
  std::string_view op;
  std::string_view mode = {};  // its attribute of that name
  /// The setting without which the count of steps makes no difference; else it always does.
  std::string_view counts_for = {};
};

/// The update of one parameter.
using UpdateParameter = std::function<void(ParameterUpdate&)>;

struct OptimizerDef {
  std::string_view name;
  Formula formula = Formula::torch;
  std::vector<SettingDef> settings = {};
  std::vector<SlotDef> slots = {};
  /// The state that counts the steps, from 0 on, and the setting that it is kept for, if not
  /// always.
  std::string_view counter = {};
  std::string_view counter_with = {};
  /// Writes what is computed once in a step; gives what is done for each parameter. Null where the
  /// standard has a node for it.
  UpdateParameter (*update)(StepParts&) = nullptr;
  NodeDef node = {};

  /// In its own framework: the class that an export constructs, then others that are it too.
  std::vector<ClassDef> classes = {};
  /// Arguments of the class that mean nothing for this optimizer, whatever they are.
  std::vector<std::string_view> idle = {};
  /// Torch's optimizer keeps the count among its state.
  bool counts_itself = true;
  /// Keras squares the gradients of rows that were read several times before it adds them up.
  bool squares_gradients = false;

  const SettingDef* find(std::string_view setting) const;
};

/// All rows, those of a formula after the other.
const std::vector<OptimizerDef>& optimizers();
/// Throws an Error that lists what there is.
const OptimizerDef& find_optimizer(std::string_view name, Formula formula);

/// Each once, in the order of the table.
std::vector<std::string_view> optimizer_names();
/// A setting of any optimizer, once, with the optimizers that have it: "adam, adamw".
struct SettingUse {
  std::string_view name;
  std::string owners;
};

/// The settings of all rows of a table, in the order in which they first stand there.
template <typename Rows>
std::vector<SettingUse> setting_uses(const Rows& rows) {
  std::vector<SettingUse> uses;
  for (const auto& row : rows) {
    for (const SettingDef& setting : row.settings) {
      const auto use = std::ranges::find(uses, setting.name, &SettingUse::name);
      if (use == uses.end()) {
        uses.push_back({setting.name, std::string(row.name)});
      } else {
        use->owners += ", " + std::string(row.name);
      }
    }
  }
  return uses;
}
std::vector<SettingUse> optimizer_settings();

bool is_kept(const SlotDef& slot, const OptimizerSettings& settings);
bool counts_steps(const OptimizerSettings& settings);

// One file a formula.
std::vector<OptimizerDef> torch_optimizers();
std::vector<OptimizerDef> torch_adam_optimizers();  // which are among those
std::vector<OptimizerDef> keras_optimizers();
std::vector<OptimizerDef> onnx_optimizers();

}  // namespace onward
