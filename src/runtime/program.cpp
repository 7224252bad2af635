#include "runtime/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "infer/infer.h"
#include "ir/clone.h"
#include "onward/error.h"
#include "ops/legalize.h"
#include "passes/passes.h"
#include "runtime/finite.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/tile_program.h"

namespace onward {
namespace {

/// The same graph for inputs of these types.
Model specialized(const Model& step, const TensorMap& inputs) {
  Model copy;
  copy.ir_version = step.ir_version;
  copy.opsets = step.opsets;
  ValueMap map;
  clone_into(*step.graph, *copy.graph, map);
  for (Value* output : step.graph->outputs()) copy.graph->add_output(mapped(map, output));
  // A plan believes what follows from the inputs, not what the file declares.
  for (const auto& node : copy.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (output) output->type = without_shapes(output->type);
    }
  }
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

/// Internal operators are left to the passes, which look for them.
std::string refused_by_kernels(const Node& node) {
  const bool taken = node.domain == kInternalDomain || eval::find_kernel(node.domain, node.op) ||
                     !kernel_choices(node).empty();
  return taken ? "" : "it has no kernel";
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

std::byte* at(const BoundPlan& bound, SlotIndex slot) {
  return slot < 0 ? nullptr : bound.pointers[static_cast<size_t>(slot)];
}

void require_finite(const BoundPlan& bound) {
  for (const Plan::Finite& each : bound.plan->finite) {
    const SlotInfo& info = bound.plan->slots[static_cast<size_t>(each.slot)];
    refuse_not_finite({.name = each.name,
                       .dtype = info.dtype,
                       .dims = info.dims,
                       .elements = at(bound, each.slot),
                       .old = at(bound, each.old),
                       .advice = each.advice});
  }
}

bool has_tame_gradients(const BoundPlan& bound) {
  return std::ranges::all_of(bound.plan->tame, [&](SlotIndex slot) {
    return *reinterpret_cast<const bool*>(at(bound, slot));
  });
}

bool has_tame_settings(const BoundPlan& bound) {
  return std::ranges::all_of(bound.plan->settings, [&](SlotIndex slot) {
    const SlotInfo& info = bound.plan->slots[static_cast<size_t>(slot)];
    return is_tame(info.dtype, info.dims, at(bound, slot));
  });
}

TensorMap outputs_of(const BoundPlan& bound, std::initializer_list<bool> of_update) {
  TensorMap outputs;
  for (const Plan::Result& output : bound.plan->outputs) {
    if (std::ranges::find(of_update, output.of_update) == of_update.end()) continue;
    outputs.emplace(output.name, copied(bound.plan->slots[static_cast<size_t>(output.slot)],
                                        at(bound, output.slot)));
  }
  return outputs;
}

enum class Copies : uint8_t { of_batches, all };

void run_copies(const BoundPlan& bound, Copies which) {
  for (const Plan::Copy& copy : bound.plan->copies) {
    if (which == Copies::of_batches && !copy.of_batch) continue;
    std::memcpy(at(bound, copy.to), at(bound, copy.from), copy.bytes);
  }
}

}  // namespace

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
  legalize(step, {.name = "the runtime", .refuses = refused_by_kernels});
  run_step_passes(step, is_state);
  if (!has_known_types(*step.graph)) return nullptr;
  return make_plan(std::move(step), request_, is_state);
}

BoundPlan& Program::bound_for(const TensorMap& inputs, const State& state) {
  std::string key = std::to_string(threads());
  for (const Value* input : step_.graph->inputs()) {
    const auto given = inputs.find(input->name());
    key += ';';
    key += given == inputs.end() ? "-" : to_string(given->second.type());
  }
  if (BoundPlan* found = plans_.find(key)) return *found;
  check(inputs);
  std::unique_ptr<Plan> plan = plan_for(inputs, state);
  if (plan) {
    for (const SlotInfo& slot : plan->slots) {
      if (slot.home == SlotInfo::Home::state) state.require(slot.name, slot.dtype, slot.dims);
    }
  }
  last_ = nullptr;  // it may have to go
  return plans_.add(key, std::move(plan), *step_.graph);
}

/// Fills in where each slot is; what does not move between runs only once.
void Program::bind(BoundPlan& bound, const TensorMap* inputs, const State& state) {
  const Plan& plan = *bound.plan;
  if (plan.arena_bytes > arena_.size()) arena_ = Buffer(plan.arena_bytes);
  const bool moved = bound.state != &state || bound.arena != arena_.data();
  bound.pointers.resize(plan.slots.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const SlotInfo& slot = plan.slots[i];
    std::byte*& at = bound.pointers[i];
    if (slot.same_as >= 0) {
      at = bound.pointers[static_cast<size_t>(slot.same_as)];
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
  bound.state = &state;
  bound.arena = arena_.data();
}

TensorMap Program::run(const TensorMap& inputs, State& state, const eval::RandomKey& random) {
  TensorMap outputs = compute(inputs, state, random);
  commit(state);
  return outputs;
}

TensorMap Program::compute(const TensorMap& inputs, const State& state,
                           const eval::RandomKey& random) {
  BoundPlan& bound = bound_for(inputs, state);
  last_ = &bound;
  if (!bound.plan) return interpret(inputs, state, random);
  bind(bound, &inputs, state);
  ++bound.runs;
  const Run run{.pointers = bound.pointers.data(), .random = &random};
  run_actions(bound.plan->micro, run);
  require_finite(bound);
  tame_ = has_tame_gradients(bound);
  run_actions(bound.plan->update, run);
  tame_ &= has_tame_settings(bound);
  reserve_tiles(bound.plan->tile_registers);
  return outputs_of(bound, {false, true});
}

void Program::commit(State& state) {
  const auto write = [&] {
    if (!last_->plan) {
      for (const auto& [name, tensor] : new_state_) state.set(name, tensor);
      new_state_.clear();
      return;
    }
    const eval::RandomKey none;
    run_actions(last_->plan->commit, {.pointers = last_->pointers.data(), .random = &none});
    // Statistics of micro-batches are copied once more, the last ones.
    run_copies(*last_, Copies::all);
  };
  if (tame_) return write();
  StateUndo undo(state);
  undo.keep(targets_);
  write();
  for (const std::string& name : targets_) {
    const Tensor now = state.get(name);
    refuse_not_finite({.name = name,
                       .dtype = now.dtype(),
                       .dims = now.dims(),
                       .elements = now.bytes().data(),
                       .old = undo.kept(name)});
  }
  undo.dismiss();
}

void Program::begin_micro_batches() {
  sums_.clear();
  micro_batches_ = 0;
  tame_ = true;
}

TensorMap Program::run_micro(const TensorMap& inputs, State& state, const eval::RandomKey& random) {
  BoundPlan& bound = bound_for(inputs, state);
  last_ = &bound;
  if (!bound.plan) {
    throw Error("micro-batches can't be accumulated where shapes depend on the data");
  }
  bind(bound, &inputs, state);
  ++bound.runs;
  run_actions(bound.plan->micro, {.pointers = bound.pointers.data(), .random = &random});
  require_finite(bound);
  tame_ &= has_tame_gradients(bound);
  sums_.resize(bound.plan->gradients.size());
  for (size_t g = 0; g < sums_.size(); ++g) {
    const auto slot = static_cast<size_t>(bound.plan->gradients[g]);
    const Tensor gradient = copied(bound.plan->slots[slot], bound.pointers[slot]);
    sums_[g].resize(static_cast<size_t>(gradient.size()), 0);
    for (int64_t i = 0; i < gradient.size(); ++i) {
      sums_[g][static_cast<size_t>(i)] += gradient.number(i);
    }
  }
  ++micro_batches_;
  TensorMap outputs = outputs_of(bound, {false});
  run_copies(bound, Copies::of_batches);
  return outputs;
}

TensorMap Program::compute_update(const State& state, const eval::RandomKey& random) {
  if (!last_ || micro_batches_ == 0) throw Error("there are no gradients to update with");
  bind(*last_, nullptr, state);
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
  tame_ &= has_tame_settings(*last_);
  reserve_tiles(plan.tile_registers);
  return outputs_of(*last_, {true});
}

std::string Program::explain() const {
  if (!last_) return "nothing has been run yet\n";
  if (!last_->plan) return "shapes depend on data: every node runs on the reference kernels\n";
  const Plan& plan = *last_->plan;
  double total = 1e-30;
  for (const auto* actions : {&plan.micro, &plan.update, &plan.commit}) {
    for (const Action& action : *actions) total += action.seconds;
  }
  std::string text = fmt::format("{} actions, {:.1f} MB, {:.3f} ms a step\n",
                                 plan.micro.size() + plan.update.size() + plan.commit.size(),
                                 static_cast<double>(plan.arena_bytes) / 1e6,
                                 1e3 * total / static_cast<double>(last_->runs));
  const auto list = [&](std::string_view part, const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      text += fmt::format("{:6} {:5.1f} % {:24} {}", part, 100 * action.seconds / total,
                          action.kernel, action.label);
      text += action.reason.empty() ? "\n" : fmt::format("   ({})\n", action.reason);
    }
  };
  list("micro", plan.micro);
  list("update", plan.update);
  list("commit", plan.commit);
  return text;
}

}  // namespace onward
