#include "python/gradients.h"

#include <fmt/format.h>

#include <map>

#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/clone.h"
#include "onward/error.h"

namespace onward::python {
namespace {

/// The step's nodes in a model whose outputs are only the gradients; gives their names.
std::vector<std::string> keep_gradients(const Model& step, Model& result) {
  result.ir_version = step.ir_version;
  result.opsets = step.opsets;
  ValueMap map;
  clone_into(*step.graph, *result.graph, map);
  std::vector<std::pair<std::string, Value*>> gradients;  // with respect to, gradient
  for (const auto& node : result.graph->nodes()) {
    const auto* xs = node->op == "Gradient" ? node->get<References>("xs") : nullptr;
    if (!xs) continue;
    for (size_t i = 0; i < xs->values.size(); ++i) {
      if (Value* gradient = node->output(i)) gradients.emplace_back(xs->values[i]->name(), gradient);
    }
  }
  std::map<std::string, int> times;
  for (const auto& [name, gradient] : gradients) ++times[name];
  std::vector<std::string> names;
  for (const auto& [name, gradient] : gradients) {
    names.push_back(times[name] == 1 ? name : gradient->name());
    result.graph->add_output(gradient);
  }
  return names;
}

}  // namespace

GradientProgram::GradientProgram(const Model& model, size_t info) {
  Model step;
  names_ = keep_gradients(join_step(model, info), step);
  if (names_.empty()) throw Error(fmt::format("training info {} computes no gradients", info));
  replace_gradients(step);
  for (const Value* output : step.graph->outputs()) outputs_.push_back(output->name());
  program_.emplace(std::move(step));
}

TensorMap GradientProgram::run(const TensorMap& inputs, State& state) {
  const TensorMap results = program_->run(inputs, state);
  TensorMap gradients;
  for (size_t i = 0; i < names_.size(); ++i) gradients.emplace(names_[i], results.at(outputs_[i]));
  return gradients;
}

}  // namespace onward::python
