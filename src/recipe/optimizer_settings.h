#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace onward {

struct OptimizerDef;

/// Whose optimizer is meant: the formulas differ by more than rounding.
enum class Formula : uint8_t {
  torch,
  keras,
  onnx,  // the standard's Adam, Adagrad or Momentum node, whose attributes are float32
};

/// An optimizer and its settings, which are those of its row in the table (optimizer_def.h).
/// Switches are 0 or 1.
class OptimizerSettings {
 public:
  OptimizerSettings();  // adam in torch's formula
  explicit OptimizerSettings(const OptimizerDef& def);

  const OptimizerDef& def() const { return *def_; }
  std::string_view name() const;
  Formula formula() const;

  bool has(std::string_view setting) const;
  /// The value of a setting that the row has.
  double operator[](std::string_view setting) const;
  bool is_on(std::string_view setting) const { return has(setting) && (*this)[setting] != 0; }
  /// The value as Keras's ops.cast gives it, where the row says that it goes through that.
  double rounded(std::string_view setting) const;

  /// Sets what a user gives, by either name. Throws Error where no optimizer has such a setting, or
  /// this one has not. The value is looked at later, by `check_settings`.
  void set(std::string_view setting, double value);

  /// Keras: settings that its rows mark pass through float32, as they do on its TensorFlow
  /// backend; models of float32 can't tell.
  bool float32_numbers = false;

  friend bool operator==(const OptimizerSettings&, const OptimizerSettings&) = default;

 private:
  const OptimizerDef* def_;
  std::vector<double> values_;  // in the order of the row
};

/// What users call a setting, on the command line and in Python: "lr" for "learning_rate". Files
/// keep the names of the table.
std::string_view public_name(std::string_view setting);

/// An optimizer with the defaults that its formula's own framework gives it. Throws an Error that
/// lists the names where there is none.
OptimizerSettings default_settings(std::string_view name, Formula formula);

}  // namespace onward
