#include "runtime/program.h"

#include <fmt/format.h>

#include "eval/interpreter.h"
#include "onward/error.h"

namespace onward {

Program::Program(Model step) : step_(std::move(step)) {}

TensorMap Program::run(const TensorMap& inputs, State& state, const eval::RandomKey& random) {
  eval::Environment environment;
  for (const Value* input : step_.graph->inputs()) {
    const auto given = inputs.find(input->name());
    if (given != inputs.end()) environment.emplace(input, given->second);
  }
  for (const Value* initializer : step_.graph->initializers()) {
    if (state.has(initializer->name())) {
      environment.emplace(initializer, state.get(initializer->name()));
    }
  }
  eval::run_graph(*step_.graph, environment, random);
  TensorMap outputs;
  for (const Value* output : step_.graph->outputs()) {
    outputs.emplace(output->name(), environment.at(output));
  }
  if (!step_.training.empty()) {
    for (const Binding& binding : step_.training[0].update_bindings) {
      state.set(binding.target->name(), environment.at(binding.source));
    }
  }
  return outputs;
}

}  // namespace onward
