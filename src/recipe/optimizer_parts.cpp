#include "recipe/optimizer_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"
#include "recipe/schedule_def.h"

namespace onward {

Expr Rounded::to(DType dtype) {
  const auto found = rounded_.find(dtype);
  if (found != rounded_.end()) return found->second;
  return rounded_.emplace(dtype, cast(number_, dtype)).first->second;
}

StepRates::StepRates(Algorithm& algorithm, const Recipe& recipe, DType dtype)
    : algorithm_(algorithm),
      builder_(algorithm.builder("optimizer/")),
      dtype_(dtype),
      state_(add_state("learning_rate", recipe.optimizer["learning_rate"])),
      learning_rate_(state_) {
  if (!counts_steps(recipe)) return;
  const std::string_view counter = recipe.optimizer.def().counter;
  step_ = algorithm_.add_state(counter.empty() ? "step" : std::string(counter),
                               Tensor::scalar<int64_t>(0));
  const Expr one = builder_.expr(algorithm_.constant("one", 1, DType::i64));
  next_step_ = (builder_.expr(step_) + one).value();
  algorithm_.update(step_, next_step_);
  if (!has_schedule(recipe)) return;
  factor_ = schedule_factor(recipe, algorithm_, builder_, builder_.expr(step_));
  learning_rate_ = scheduled(state_);
}

Value* StepRates::add_state(const std::string& name, double first) {
  Value* state = algorithm_.add_state(name, scalar_tensor(first, dtype_));
  algorithm_.update(state, builder_.add("Identity", {state}, dtype_).value());
  return state;
}

Value* StepRates::scheduled(Value* rate) {
  if (!factor_) return rate;
  const Expr now = cast(builder_.expr(rate), DType::f64) * *factor_;
  return cast(now, dtype_).value();
}

Value* StepRates::rate(const std::string& name, double first) {
  return scheduled(add_state(name, first));
}

StepParts::StepParts(Algorithm& algorithm, const OptimizerSettings& settings, StepRates& rates,
                     Value* rate, std::string suffix)
    : algorithm_(algorithm),
      settings_(settings),
      rates_(rates),
      builder_(algorithm.builder("optimizer/")),
      rate_(rate),
      suffix_(std::move(suffix)) {}

ParameterUpdate::ParameterUpdate(StepParts& parts, const ParameterGradient& each)
    : parts_(parts),
      each_(each),
      builder_(parts.algorithm().builder(each.parameter->name() + "/")) {}

Expr ParameterUpdate::slot(const std::string& name) {
  const auto& rows = settings().def().slots;
  const auto row = std::ranges::find(rows, name, &SlotDef::name);
  if (row == rows.end() || !is_kept(*row, settings())) {
    throw Bug(fmt::format("{} keeps no {}", settings().name(), name));
  }
  const double first = row->starts_with.empty() ? 0 : settings().rounded(row->starts_with);
  const Tensor& tensor = *each_.parameter->tensor();
  Value* slot = parts_.algorithm().add_state(each_.parameter->name() + "." + name,
                                             filled_tensor(first, tensor.dtype(), tensor.dims()));
  slots_.push_back({name, slot});
  return builder_.expr(slot);
}

}  // namespace onward
