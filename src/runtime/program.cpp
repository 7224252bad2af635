#include "runtime/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "eval/interpreter.h"
#include "ir/clone.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "passes/passes.h"

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

Value* find_value(const Graph& graph, const std::string& name) {
  for (const auto& node : graph.nodes()) {
    for (const auto& output : node->outputs()) {
      if (output && output->name() == name) return output.get();
    }
  }
  throw Bug(fmt::format("there is no value '{}' to cut the step at", name));
}

/// The same graph for inputs of these types.
Model specialized(const Model& step, const TensorMap& inputs) {
  Model copy;
  copy.ir_version = step.ir_version;
  copy.opsets = step.opsets;
  ValueMap map;
  clone_into(*step.graph, *copy.graph, map);
  for (Value* output : step.graph->outputs()) copy.graph->add_output(mapped(map, output));
  for (Value* input : copy.graph->inputs()) {
    const auto given = inputs.find(input->name());
    if (given != inputs.end()) {
      input->type = given->second.type();
    } else {
      input->type = input->tensor()->type();
    }
  }
  return copy;
}

bool has_known_types(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (!node->subgraphs().empty()) return false;
    for (const auto& output : node->outputs()) {
      if (!output) continue;
      if (!static_dims(*output) || bits(output->type.dtype) < 8) return false;
    }
    for (const Value* input : node->inputs()) {
      if (input && (!static_dims(*input) || bits(input->type.dtype) < 8)) return false;
    }
  }
  return true;
}

Tensor copied(const SlotInfo& info, const std::byte* from) {
  auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(from), info.bytes);
  return Tensor::from_bytes(info.dtype, info.dims, std::move(bytes));
}

/// A loss that is not finite would spoil the state: it is refused while the state is whole.
void refuse_not_finite(const TensorMap& outputs) {
  for (const auto& [name, tensor] : outputs) {
    if (tensor.size() != 1 || !is_float(tensor.dtype())) continue;
    const double number = tensor.number(0);
    if (!std::isfinite(number)) throw Error(fmt::format("'{}' became {}", name, number));
  }
}

/// Looking at the clock takes some 30 ns, next to nothing beside the smallest kernel.
void run_actions(std::vector<Action>& actions, const Run& run) {
  using Clock = std::chrono::steady_clock;
  auto begun = Clock::now();
  for (Action& action : actions) {
    try {
      action.run(run);
      const auto done = Clock::now();
      action.seconds += std::chrono::duration<double>(done - begun).count();
      begun = done;
    } catch (Error& error) {
      error.add_context("in " + action.label);
      throw;
    }
  }
}

}  // namespace

Program::Program(Model step, const std::vector<std::string>& gradients) : step_(std::move(step)) {
  Graph& graph = *step_.graph;
  const size_t named = graph.outputs().size();
  std::vector<Value*> sources;
  if (!step_.training.empty()) {
    for (const Binding& binding : step_.training[0].update_bindings) {
      sources.push_back(binding.source);
      request_.bindings.push_back({binding.target->name(), output_index(graph, binding.source)});
    }
  }
  for (size_t i = 0; i < named; ++i) {
    Value* output = graph.outputs()[i];
    if (std::ranges::find(sources, output) == sources.end()) {
      request_.outputs.push_back({output->name(), i});
    }
  }
  for (const std::string& name : gradients) {
    request_.gradients.push_back(output_index(graph, find_value(graph, name)));
  }
  step_.training.clear();
  expand_optimizers(step_);
  eval::refuse_unknown_operators(graph);
}

void Program::check(const TensorMap& inputs) const {
  std::vector<std::string> missing;
  for (const Value* input : step_.graph->inputs()) {
    const auto given = inputs.find(input->name());
    if (given == inputs.end()) {
      if (!input->tensor()) {
        missing.push_back(fmt::format("'{}' {}", input->name(), to_string(input->type)));
      }
      continue;
    }
    if (const auto why = conflict(input->type, given->second.type())) {
      throw Error(fmt::format("input '{}' is {}, not {}: {}", input->name(), to_string(input->type),
                              to_string(given->second.type()), *why));
    }
  }
  if (!missing.empty()) {
    throw Error(fmt::format("no values are given for {}", fmt::join(missing, ", ")));
  }
}

std::unique_ptr<Plan> Program::plan_for(const TensorMap& inputs, const State& state) const {
  const auto is_state = [&](const std::string& name) { return state.has(name); };
  Model step = specialized(step_, inputs);
  infer_step_types(step);
  run_step_passes(step, is_state);
  if (!has_known_types(*step.graph)) return nullptr;
  return make_plan(std::move(step), request_, is_state);
}

Program::Ready& Program::ready_for(const TensorMap& inputs, const State& state) {
  std::string key;
  for (const Value* input : step_.graph->inputs()) {
    const auto given = inputs.find(input->name());
    key += given == inputs.end() ? "-" : to_string(given->second.type());
    key += ';';
  }
  const auto found = plans_.find(key);
  if (found != plans_.end()) return found->second;
  check(inputs);
  return plans_.emplace(key, Ready{.plan = plan_for(inputs, state)}).first->second;
}

/// Fills in where each slot is; what does not move between runs only once.
void Program::point(Ready& ready, const TensorMap* inputs, const State& state) {
  const Plan& plan = *ready.plan;
  if (plan.arena_bytes > arena_.size()) arena_ = Buffer(plan.arena_bytes);
  const bool moved = ready.state != &state || ready.arena != arena_.data();
  ready.pointers.resize(plan.slots.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const SlotInfo& slot = plan.slots[i];
    std::byte*& at = ready.pointers[i];
    if (slot.same_as >= 0) {
      at = ready.pointers[static_cast<size_t>(slot.same_as)];
    } else if (slot.home == SlotInfo::Home::input && inputs) {
      const auto given = inputs->find(slot.name);
      const Tensor& tensor = given == inputs->end() ? slot.constant : given->second;
      at = const_cast<std::byte*>(tensor.bytes().data());
    } else if (!moved) {
      continue;
    } else if (slot.home == SlotInfo::Home::arena) {
      at = arena_.data() + slot.offset;
    } else if (slot.home == SlotInfo::Home::state) {
      at = state.data(slot.name);
    } else {
      at = const_cast<std::byte*>(slot.constant.bytes().data());
    }
  }
  ready.state = &state;
  ready.arena = arena_.data();
}

TensorMap Program::outputs_of(const Ready& ready) const {
  TensorMap outputs;
  for (const Plan::Result& output : ready.plan->outputs) {
    const auto slot = static_cast<size_t>(output.slot);
    outputs.emplace(output.name, copied(ready.plan->slots[slot], ready.pointers[slot]));
  }
  return outputs;
}

TensorMap Program::run(const TensorMap& inputs, State& state, const eval::RandomKey& random) {
  Ready& ready = ready_for(inputs, state);
  last_ = &ready;
  if (!ready.plan) return interpret(inputs, state, random);
  point(ready, &inputs, state);
  ++ready.runs;
  const Run run{.pointers = ready.pointers.data(), .random = &random};
  run_actions(ready.plan->micro, run);
  if (!request_.gradients.empty()) refuse_not_finite(outputs_of(ready));
  run_actions(ready.plan->update, run);
  return outputs_of(ready);
}

TensorMap Program::run_micro(const TensorMap& inputs, State& state, const eval::RandomKey& random) {
  Ready& ready = ready_for(inputs, state);
  last_ = &ready;
  if (!ready.plan) {
    throw Error("micro-batches can't be accumulated where shapes depend on the data");
  }
  point(ready, &inputs, state);
  ++ready.runs;
  run_actions(ready.plan->micro, {.pointers = ready.pointers.data(), .random = &random});
  TensorMap outputs = outputs_of(ready);
  refuse_not_finite(outputs);
  sums_.resize(ready.plan->gradients.size());
  for (size_t g = 0; g < sums_.size(); ++g) {
    const auto slot = static_cast<size_t>(ready.plan->gradients[g]);
    const Tensor gradient = copied(ready.plan->slots[slot], ready.pointers[slot]);
    sums_[g].resize(static_cast<size_t>(gradient.size()), 0);
    for (int64_t i = 0; i < gradient.size(); ++i) {
      sums_[g][static_cast<size_t>(i)] += gradient.number(i);
    }
  }
  ++micro_batches_;
  return outputs;
}

void Program::run_update(State& state, const eval::RandomKey& random) {
  if (!last_ || micro_batches_ == 0) throw Error("there are no gradients to update with");
  point(*last_, nullptr, state);
  Plan& plan = *last_->plan;
  for (size_t g = 0; g < sums_.size(); ++g) {
    const auto slot = static_cast<size_t>(plan.gradients[g]);
    const double count = static_cast<double>(micro_batches_);
    if (plan.slots[slot].dtype == DType::f32) {
      auto* to = reinterpret_cast<float*>(last_->pointers[slot]);
      for (size_t i = 0; i < sums_[g].size(); ++i) to[i] = static_cast<float>(sums_[g][i] / count);
    } else if (plan.slots[slot].dtype == DType::f64) {
      auto* to = reinterpret_cast<double*>(last_->pointers[slot]);
      for (size_t i = 0; i < sums_[g].size(); ++i) to[i] = sums_[g][i] / count;
    } else {
      throw Error(
          fmt::format("gradients of type {} can't be accumulated", name(plan.slots[slot].dtype)));
    }
  }
  run_actions(plan.update, {.pointers = last_->pointers.data(), .random = &random});
  sums_.clear();
  micro_batches_ = 0;
}

/// Node by node with shapes as they come, on the reference kernels.
TensorMap Program::interpret(const TensorMap& inputs, State& state,
                             const eval::RandomKey& random) const {
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
  for (const auto& wanted : request_.outputs) {
    outputs.emplace(wanted.name, environment.at(step_.graph->outputs()[wanted.output]));
  }
  if (!request_.gradients.empty()) refuse_not_finite(outputs);
  for (const auto& binding : request_.bindings) {
    state.set(binding.target, environment.at(step_.graph->outputs()[binding.output]));
  }
  return outputs;
}

std::string Program::explain() const {
  if (!last_) return "nothing has been run yet\n";
  if (!last_->plan) return "shapes depend on data: every node runs on the reference kernels\n";
  const Plan& plan = *last_->plan;
  double total = 1e-30;
  for (const auto* actions : {&plan.micro, &plan.update}) {
    for (const Action& action : *actions) total += action.seconds;
  }
  std::string text = fmt::format(
      "{} actions, {:.1f} MB, {:.3f} ms a step\n", plan.micro.size() + plan.update.size(),
      static_cast<double>(plan.arena_bytes) / 1e6, 1e3 * total / static_cast<double>(last_->runs));
  const auto list = [&](std::string_view part, const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      text += fmt::format("{:6} {:5.1f} % {:24} {}", part, 100 * action.seconds / total,
                          action.kernel, action.label);
      text += action.reason.empty() ? "\n" : fmt::format("   ({})\n", action.reason);
    }
  };
  list("micro", plan.micro);
  list("update", plan.update);
  return text;
}

}  // namespace onward
