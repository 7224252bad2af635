#pragma once

// What the optimizers' formulas are written with.

#include "recipe/optimizer.h"

namespace onward {

/// Rounds a number to the type of the tensors that it meets, once for each type.
class Rounded {
 public:
  explicit Rounded(Expr number) : number_(number) {}
  Expr to(DType dtype);

 private:
  Expr number_;
  std::map<DType, Expr> rounded_;
};

/// What is computed once in a step, for all parameters.
class StepParts {
 public:
  /// The learning rate is of type `dtype`. It is state that a step leaves as it is, so that nothing
  /// takes it for a constant and a schedule can set it.
  StepParts(Algorithm& algorithm, const OptimizerSettings& settings, DType dtype);
  StepParts(const StepParts&) = delete;
  StepParts& operator=(const StepParts&) = delete;

  Algorithm& algorithm() { return algorithm_; }
  const OptimizerSettings& settings() const { return settings_; }

  Expr learning_rate() { return builder_.expr(learning_rate_); }
  /// A constant.
  Expr number(const std::string& name, double value, DType dtype) {
    return builder_.expr(algorithm_.constant(name, value, dtype));
  }
  /// Counts the steps, from 0 on, in a state of that name.
  void count(const std::string& name);
  /// The count before this step, and after it.
  Expr steps() { return builder_.expr(step_); }
  Expr steps_with_this() { return builder_.expr(next_step_); }

  /// What is kept, but for the slots.
  OptimizerState state() const { return {learning_rate_, step_, {}}; }

 private:
  Algorithm& algorithm_;
  const OptimizerSettings& settings_;
  Builder builder_;
  Value* learning_rate_;
  Value* step_ = nullptr;
  Value* next_step_ = nullptr;
};

/// The update of one parameter: names of its own, numbers in its type.
class ParameterUpdate {
 public:
  ParameterUpdate(StepParts& parts, const ParameterGradient& each);
  ParameterUpdate(const ParameterUpdate&) = delete;
  ParameterUpdate& operator=(const ParameterUpdate&) = delete;

  const OptimizerSettings& settings() const { return parts_.settings(); }
  DType dtype() const { return each_.parameter->type.dtype; }
  Expr parameter() { return builder_.expr(each_.parameter); }
  Expr gradient() { return builder_.expr(each_.gradient); }
  Expr number(const std::string& name, double value) {
    return builder_.expr(parts_.algorithm().constant(name, value, dtype()));
  }
  /// A setting, under its own name.
  Expr number(const std::string& setting) {
    return number(setting, parts_.settings().rounded(setting));
  }
  Expr rounded(Rounded& number) { return builder_.expr(number.to(dtype()).value()); }

  /// State of the parameter's shape, "<parameter>.<name>", which the optimizer's row has.
  Expr slot(const std::string& name);

  void set(Expr slot, Expr next) { parts_.algorithm().update(slot.value(), next.value()); }
  void set_parameter(Expr next) { set(parameter(), next); }
  std::vector<Slot> slots() { return std::move(slots_); }

 private:
  StepParts& parts_;
  const ParameterGradient& each_;
  Builder builder_;
  std::vector<Slot> slots_;
};

/// Writes the standard's node, for rows that have one.
OptimizerState write_standard_node(StepParts& step, std::span<const ParameterGradient> parameters);

}  // namespace onward
