// Steps that no plan can hold.

#include "eval/interpreter.h"
#include "runtime/continuation.h"
#include "runtime/finite.h"
#include "runtime/program.h"

namespace onward {

/// Node by node with shapes as they come, on the reference kernels.
TensorMap Program::interpret(const TensorMap& inputs, const State& state,
                             const eval::RandomKey& random) {
  eval::Environment environment;
  for (const Value* input : step_.graph->inputs()) {
    const auto given = inputs.find(input->name());
    if (given == inputs.end()) continue;
    environment.emplace(input,
                        to_plain(given->second, layout_of(request_.input_layouts, input->name())));
  }
  for (const Value* initializer : step_.graph->initializers()) {
    if (state.has(initializer->name())) {
      environment.emplace(initializer, state.get(initializer->name()));
    }
  }
  eval::run_graph(*step_.graph, environment, {.random = random, .subgraphs = &subgraphs_});
  const auto computed = [&](size_t output) -> const Tensor& {
    return environment.at(step_.graph->outputs()[output]).tensor();
  };
  for (const auto& loss : request_.losses) {
    const Tensor& tensor = computed(loss.output);
    refuse_not_finite({.name = loss.name,
                       .dtype = tensor.dtype(),
                       .dims = tensor.dims(),
                       .elements = tensor.bytes().data()});
  }
  TensorMap outputs;
  for (const auto& wanted : request_.outputs) outputs.emplace(wanted.name, computed(wanted.output));
  new_state_.clear();
  for (const auto& binding : request_.bindings) {
    const Tensor& tensor = computed(binding.output);
    state.require(binding.target, tensor.dtype(), tensor.dims());
    refuse_not_finite({.name = binding.target,
                       .dtype = tensor.dtype(),
                       .dims = tensor.dims(),
                       .elements = tensor.bytes().data(),
                       .old = state.data(binding.target),
                       .advice = binding.advice});
    new_state_.emplace(binding.target, tensor);
  }
  return outputs;
}

}  // namespace onward
