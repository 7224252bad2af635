#include "recipe/optimizer_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward {

Expr Rounded::to(DType dtype) {
  const auto found = rounded_.find(dtype);
  if (found != rounded_.end()) return found->second;
  return rounded_.emplace(dtype, cast(number_, dtype)).first->second;
}

StepParts::StepParts(Algorithm& algorithm, const OptimizerSettings& settings, DType dtype)
    : algorithm_(algorithm),
      settings_(settings),
      builder_(algorithm.builder("optimizer/")),
      learning_rate_(
          algorithm.add_state("learning_rate", scalar_tensor(settings["learning_rate"], dtype))) {
  algorithm.update(learning_rate_, builder_.add("Identity", {learning_rate_}, dtype).value());
}

void StepParts::count(const std::string& name) {
  step_ = algorithm_.add_state(name, Tensor::scalar<int64_t>(0));
  next_step_ = (builder_.expr(step_) + number("one", 1, DType::i64)).value();
  algorithm_.update(step_, next_step_);
}

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
