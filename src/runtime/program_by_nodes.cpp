// Steps that no plan can hold.

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"
#include "runtime/continuation.h"
#include "runtime/finite.h"
#include "runtime/program.h"

namespace onward {

/// Node by node with shapes as they come, on the reference kernels.
eval::Environment Program::evaluated(const TensorMap& inputs, const Values& containers,
                                     const State& state, const eval::RandomKey& random) {
  eval::Environment environment;
  for (const Value* input : step_.graph->inputs()) {
    const auto container = containers.find(input->name());
    if (container != containers.end()) environment.emplace(input, container->second);
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
  node_by_node(subgraphs_, [&] {
    eval::run_graph(*step_.graph, environment, {.random = random, .subgraphs = &subgraphs_});
  });
  return environment;
}

Program::Values Program::run_values(const TensorMap& inputs, const Values& containers, State& state,
                                    const eval::RandomKey& random) {
  Values values;
  const auto& outputs = step_.graph->outputs();
  const auto is_tensor = [](const Value* each) { return each->type.is_tensor(); };
  if (containers.empty() && std::ranges::all_of(outputs, is_tensor)) {
    for (auto& [name, tensor] : run(inputs, state, random)) values.emplace(name, std::move(tensor));
    return values;
  }
  check(inputs, containers);
  const eval::Environment environment = evaluated(inputs, containers, state, random);
  for (const auto& wanted : request_.outputs) {
    values.emplace(wanted.name, environment.at(outputs[wanted.output]));
  }
  return values;
}

TensorMap Program::interpret(const TensorMap& inputs, const State& state,
                             const eval::RandomKey& random) {
  const eval::Environment environment = evaluated(inputs, {}, state, random);
  const auto computed = [&](size_t output) -> const Tensor& {
    const Value* value = step_.graph->outputs()[output];
    const eval::RuntimeValue& found = environment.at(value);
    if (found.is_tensor()) return found.tensor();
    throw Error(fmt::format("output '{}' is {}, not a tensor: Python's Trainer.infer gives it",
                            value->name(), to_string(found.type())));
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
