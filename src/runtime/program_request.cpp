// What a program wants of its plans, found in the step that it is made of.

#include <fmt/format.h>

#include <algorithm>

#include "eval/interpreter.h"
#include "ir/dependence.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "runtime/passes/plan_passes.h"
#include "runtime/program.h"

namespace onward {
namespace {

/// The place of a value among the graph's outputs; added at the end where it has none.
size_t output_index(Graph& graph, Value* value) {
  const auto found = std::ranges::find(graph.outputs(), value);
  if (found != graph.outputs().end()) {
    return static_cast<size_t>(found - graph.outputs().begin());
  }
  graph.add_output(value);
  return graph.outputs().size() - 1;
}

Value* find_computed(const Graph& graph, const std::string& name) {
  for (const auto& node : graph.nodes()) {
    for (const auto& output : node->outputs()) {
      if (output && output->name() == name) return output.get();
    }
  }
  return nullptr;
}

std::string advice_for(const Value& target) {
  const bool is_variance = std::ranges::any_of(target.uses(), [&](const Use& use) {
    return use.input >= 0 &&
           input_role(*use.node, static_cast<size_t>(use.input)) == InputRole::running_variance;
  });
  return is_variance ? "an unbiased variance needs more than one value per channel" : "";
}

}  // namespace

Program::Program(Model step, const StepCut& cut) : step_(std::move(step)) {
  Graph& graph = *step_.graph;
  const size_t named = graph.outputs().size();
  ValueSet gradients;
  for (const std::string& name : cut.gradients) {
    Value* gradient = find_computed(graph, name);
    if (!gradient) throw Bug(fmt::format("there is no value '{}' to cut the step at", name));
    gradients.insert(gradient);
    request_.gradients.push_back(output_index(graph, gradient));
  }
  const auto from_inputs = with_results(graph, {graph.inputs().begin(), graph.inputs().end()});
  const auto from_gradients = with_results(graph, std::move(gradients));
  for (const std::string& name : cut.losses) {
    if (Value* loss = find_computed(graph, name)) {
      request_.losses.push_back({name, output_index(graph, loss)});
    }
  }
  std::vector<Value*> sources;
  if (!step_.training.empty()) {
    for (const Binding& binding : step_.training[0].update_bindings) {
      sources.push_back(binding.source);
      targets_.push_back(binding.target->name());
      const bool of_batch =
          from_inputs.contains(binding.source) && !from_gradients.contains(binding.source);
      if (of_batch) batch_targets_.push_back(binding.target->name());
      request_.bindings.push_back({.target = binding.target->name(),
                                   .output = output_index(graph, binding.source),
                                   .of_batch = of_batch,
                                   .advice = advice_for(*binding.target)});
    }
  }
  for (size_t i = 0; i < named; ++i) {
    Value* output = graph.outputs()[i];
    if (std::ranges::find(sources, output) == sources.end()) {
      request_.outputs.push_back({output->name(), i});
    }
  }
  step_.training.clear();
  expand_optimizers(step_);
  eval::refuse_unknown_operators(graph);
}

}  // namespace onward
