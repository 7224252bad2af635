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

/// The learning rates of a step, and its count.
class StepRates {
 public:
  /// Counts the steps where the optimizer or a schedule wants to know.
  StepRates(Algorithm& algorithm, const Recipe& recipe, DType dtype);
  StepRates(const StepRates&) = delete;
  StepRates& operator=(const StepRates&) = delete;

  Builder& builder() { return builder_; }
  /// A learning rate is of type `dtype`. It is state that a step leaves as it is, so that nothing
  /// takes it for a constant and it can be set between steps. Gives it as it is in this step.
  Value* rate(const std::string& name, double first);
  Value* learning_rate() const { return learning_rate_; }
  /// The count before this step, and after it; null where none is kept.
  Value* step() const { return step_; }
  Value* next_step() const { return next_step_; }
  /// What is kept, but for the slots.
  OptimizerState state() const { return {state_, step_, {}}; }

 private:
  Value* add_state(const std::string& name, double first);
  Value* scheduled(Value* rate);

  Algorithm& algorithm_;
  Builder builder_;
  DType dtype_;
  Value* state_;
  Value* learning_rate_;
  Value* step_ = nullptr;
  Value* next_step_ = nullptr;
  std::optional<Expr> factor_;
};

/// What is computed once in a step, for all parameters of a group.
class StepParts {
 public:
  /// `suffix` tells the constants of groups apart.
  StepParts(Algorithm& algorithm, const OptimizerSettings& settings, StepRates& rates, Value* rate,
            std::string suffix);
  StepParts(const StepParts&) = delete;
  StepParts& operator=(const StepParts&) = delete;

  Algorithm& algorithm() { return algorithm_; }
  const OptimizerSettings& settings() const { return settings_; }

  Expr learning_rate() { return builder_.expr(rate_); }
  Expr number(const std::string& name, double value, DType dtype) {
    return builder_.expr(constant(name, value, dtype));
  }
  Value* constant(const std::string& name, double value, DType dtype) {
    return algorithm_.constant(name + suffix_, value, dtype);
  }
  /// The count before this step, and after it.
  Expr steps() { return builder_.expr(rates_.step()); }
  Expr steps_with_this() { return builder_.expr(rates_.next_step()); }
  Value* step() const { return rates_.step(); }

 private:
  Algorithm& algorithm_;
  const OptimizerSettings& settings_;
  StepRates& rates_;
  Builder builder_;
  Value* rate_;
  std::string suffix_;
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
    return builder_.expr(parts_.constant(name, value, dtype()));
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

/// Writes the standard's node, for rows that have one. Gives the slots of each parameter.
std::vector<std::vector<Slot>> write_standard_node(StepParts& step,
                                                   std::span<const ParameterGradient> parameters);

}  // namespace onward
