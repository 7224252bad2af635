#include "python/gradients.h"

#include <fmt/format.h>

#include <map>

#include "grad/differentiate.h"
#include "grad/step.h"
#include "onward/error.h"
#include "train/step_parts.h"

namespace onward::python {
namespace {

struct Gradient {
  std::string with_respect_to;
  Value* value;
};

std::vector<Gradient> gradients_of(const Model& step) {
  std::vector<Gradient> gradients;
  for (const auto& node : step.graph->nodes()) {
    const auto* xs = node->op == "Gradient" ? node->get<References>("xs") : nullptr;
    if (!xs) continue;
    for (size_t i = 0; i < xs->values.size(); ++i) {
      if (Value* value = node->output(i)) gradients.push_back({xs->values[i]->name(), value});
    }
  }
  return gradients;
}

}  // namespace

GradientProgram::GradientProgram(const Model& model, size_t info) {
  const Model step = join_step(model, info);
  const std::vector<Gradient> gradients = gradients_of(step);
  if (gradients.empty()) throw Error(fmt::format("training info {} computes no gradients", info));
  std::map<std::string, int> times;
  for (const Gradient& each : gradients) ++times[each.with_respect_to];
  std::vector<Value*> values;
  for (const Gradient& each : gradients) {
    names_.push_back(times[each.with_respect_to] == 1 ? each.with_respect_to : each.value->name());
    values.push_back(each.value);
  }
  Model part = part_for(step, values, Updates::dropped);
  replace_gradients(part);
  for (const Value* output : part.graph->outputs()) outputs_.push_back(output->name());
  program_.emplace(std::move(part));
}

TensorMap GradientProgram::run(const TensorMap& inputs, State& state) {
  const TensorMap results = program_->run(inputs, state);
  TensorMap gradients;
  for (size_t i = 0; i < names_.size(); ++i) gradients.emplace(names_[i], results.at(outputs_[i]));
  return gradients;
}

}  // namespace onward::python
