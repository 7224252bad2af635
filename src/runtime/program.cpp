#include "runtime/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "infer/infer.h"
#include "ir/clone.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "ops/legalize.h"
#include "runtime/continuation.h"
#include "runtime/conv_method.h"
#include "runtime/finite.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/passes/plan_passes.h"
#include "runtime/regions.h"
#include "runtime/tile_program.h"

namespace onward {
namespace {

Tensor copied(const SlotInfo& info, const std::byte* from) {
  auto bytes = std::make_shared<std::string>(reinterpret_cast<const char*>(from), info.bytes);
  return Tensor::from_bytes(info.dtype, info.dims, std::move(bytes));
}

/// Looking at the clock takes some 30 ns, next to nothing beside the smallest kernel.
void run_actions(std::vector<Action>& actions, const Run& run, TimeSpent& times) {
  using Clock = std::chrono::steady_clock;
  auto begun = Clock::now();
  for (Action& action : actions) {
    try {
      action.run(run);
      const auto done = Clock::now();
      const double seconds = std::chrono::duration<double>(done - begun).count();
      action.seconds += seconds;
      times.add(seconds, action.kernel == kReferenceKernel ? seconds : 0);
      begun = done;
    } catch (Error& error) {
      error.add_context("in " + action.label);
      throw;
    } catch (const std::exception& failure) {
      rethrow_as_error(failure, action.kernel, "in " + action.label);
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

std::vector<FoundRange> gradient_ranges(const BoundPlan& bound) {
  std::vector<FoundRange> ranges;
  for (const SlotIndex slot : bound.plan->gradient_ranges) {
    ranges.push_back(*reinterpret_cast<const FoundRange*>(at(bound, slot)));
  }
  return ranges;
}

/// Copies outputs out of the plan's memory, once: what has two names is shared.
TensorMap outputs_of(const BoundPlan& bound, std::initializer_list<bool> of_update) {
  TensorMap outputs;
  std::unordered_map<SlotIndex, std::string> copies;
  for (const Plan::Result& output : bound.plan->outputs) {
    if (std::ranges::find(of_update, output.of_update) == of_update.end()) continue;
    const auto [known, is_new] = copies.emplace(output.slot, output.name);
    const SlotInfo& info = bound.plan->slots[static_cast<size_t>(output.slot)];
    outputs.emplace(output.name,
                    is_new ? copied(info, at(bound, output.slot)) : outputs.at(known->second));
  }
  return outputs;
}

/// The examples of a batch: the first dimension of all inputs; 0 where they differ in it.
int64_t examples_in(const Graph& graph, const TensorMap& inputs) {
  std::optional<int64_t> examples;
  for (const Value* input : graph.inputs()) {
    const auto given = inputs.find(input->name());
    if (given == inputs.end() || given->second.dims().empty()) continue;
    const int64_t size = given->second.dims()[0];
    if (examples.value_or(size) != size) return 0;
    examples = size;
  }
  return examples.value_or(0);
}

template <typename Body>
void with_gradient_type(DType dtype, Body body) {
  if (dtype == DType::f32) return body(float{});
  if (dtype == DType::f64) return body(double{});
  throw Error(fmt::format("gradients of type {} can't be accumulated", name(dtype)));
}

constexpr double kSumCost = 0.5;  // nanoseconds an element

void add_up(const SlotInfo& info, const std::byte* gradient, double weight,
            std::vector<double>& sums) {
  with_gradient_type(info.dtype, [&]<typename T>(T) {
    const auto* from = reinterpret_cast<const T*>(gradient);
    const auto count = static_cast<int64_t>(info.bytes / sizeof(T));
    sums.resize(static_cast<size_t>(count), 0);
    double* to = sums.data();
    parallel_for(count, kSumCost, [=](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) to[i] += weight * static_cast<double>(from[i]);
    });
  });
}

void write_mean(const SlotInfo& info, const std::vector<double>& sums, double total,
                std::byte* gradient) {
  with_gradient_type(info.dtype, [&]<typename T>(T) {
    const double* from = sums.data();
    auto* to = reinterpret_cast<T*>(gradient);
    parallel_for(static_cast<int64_t>(sums.size()), kSumCost, [=](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) to[i] = static_cast<T>(from[i] / total);
    });
  });
}

/// A range of numbers that were computed with rounding, over and over.
Range with_rounding(const Range& exact) {
  constexpr double kShare = 1e-5;
  return {exact.low - kShare * std::fabs(exact.low), exact.high + kShare * std::fabs(exact.high)};
}

enum class Copies : uint8_t { of_batches, all };

void run_copies(const BoundPlan& bound, Copies which) {
  for (const Plan::Copy& copy : bound.plan->copies) {
    if (which == Copies::of_batches && !copy.of_batch) continue;
    std::memcpy(at(bound, copy.to), at(bound, copy.from), copy.bytes);
  }
}

/// What was computed before the commit and is copied to the state can be looked at before, too. A
/// constant is what the file says, even where that is infinite.
void refuse_copies_not_finite(const BoundPlan& bound) {
  for (const Plan::Copy& copy : bound.plan->copies) {
    const SlotInfo& info = bound.plan->slots[static_cast<size_t>(copy.to)];
    const SlotInfo& from = bound.plan->slots[static_cast<size_t>(copy.from)];
    if (copy.late || copy.of_batch || !is_float(info.dtype)) continue;
    if (from.home == SlotInfo::Home::constant) continue;
    refuse_not_finite({.name = info.name,
                       .dtype = info.dtype,
                       .dims = info.dims,
                       .elements = at(bound, copy.from),
                       .old = at(bound, copy.to)});
  }
}

void refuse_other_type(const Value& input, const Type& given) {
  if (const auto why = conflict(input.type, given)) {
    throw Error(fmt::format("input '{}' is {}, not {}: {}", input.name(), to_string(input.type),
                            to_string(given), *why));
  }
}

}  // namespace

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;

Program::Program(Model rest, PlanRequest request, const Program& whole)
    : step_(std::move(rest)),
      request_(std::move(request)),
      accumulation_(whole.accumulation_),
      times_(whole.times_),
      is_rest_(true) {
  for (const auto& binding : request_.bindings) targets_.push_back(binding.target);
}

void Program::check(const TensorMap& inputs, const Values& containers) const {
  std::vector<std::string> missing;
  for (const Value* input : step_.graph->inputs()) {
    const auto given = inputs.find(input->name());
    if (given == inputs.end()) {
      const auto container = containers.find(input->name());
      if (container != containers.end()) {
        refuse_other_type(*input, container->second.type());
        continue;
      }
      if (!input->tensor()) {
        missing.push_back(fmt::format("'{}' {}", input->name(), to_string(input->type)));
      }
      continue;
    }
    refuse_other_type(*input, given->second.type());
  }
  if (!missing.empty()) {
    throw Error(fmt::format("missing inputs: {}", fmt::join(missing, ", ")));
  }
}

/// The same graph for inputs of these types.
Model Program::specialized(const TensorMap& inputs) const {
  Model copy;
  copy.ir_version = step_.ir_version;
  copy.opsets = step_.opsets;
  ValueMap map;
  clone_into(*step_.graph, *copy.graph, map);
  for (Value* output : step_.graph->outputs()) copy.graph->add_output(mapped(map, output));
  // A plan believes what follows from the inputs, not what the file declares.
  for (const auto& node : copy.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (output && !is_rest_) output->type = without_shapes(output->type);
    }
  }
  for (Value* input : copy.graph->inputs()) {
    const auto given = inputs.find(input->name());
    input->type = given != inputs.end() ? given->second.type() : input->tensor()->type();
  }
  return copy;
}

std::unique_ptr<Plan> Program::plan_for(const TensorMap& inputs, const State& state) const {
  const auto is_state = [&](const std::string& name) { return state.has(name); };
  Model step = specialized(inputs);
  infer_step_types(step);
  legalize(step, {.failure = "the graph cannot be run", .refuses = refused_by_kernels});
  run_plan_passes(step, is_state);
  if (!can_be_planned(*step.graph)) return plan_regions(step, state);
  return make_plan(std::move(step), request_, is_state);
}

std::unique_ptr<Plan> Program::plan_regions(const Model& step, const State& state) const {
  std::optional<Regions> regions = cut_into_regions(step);
  if (!regions) return nullptr;
  PlanRequest request{.input_layouts = request_.input_layouts, .goes_on = true};
  for (size_t i = 0; i < regions->planned.graph->outputs().size(); ++i) {
    request.outputs.push_back({regions->planned.graph->outputs()[i]->name(), i});
  }
  auto plan = make_plan(std::move(regions->planned), request,
                        [&](const std::string& name) { return state.has(name); });
  PlanRequest rest = request_;
  for (const Plan::Result& output : plan->outputs) {
    rest.input_layouts[output.name] = plan->slots[static_cast<size_t>(output.slot)].layout;
  }
  InputLayouts layouts = rest.input_layouts;
  std::unique_ptr<Program> program(new Program(std::move(regions->rest), std::move(rest), *this));
  plan->rest = std::make_unique<Continuation>(std::move(regions->dynamic), std::move(program),
                                              std::move(layouts));
  return plan;
}

BoundPlan& Program::bound_for(const TensorMap& inputs, const State& state) {
  std::string key = fmt::format("{} {}", threads(), name(conv_method()));
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
    } else if (slot.home == SlotInfo::Home::kept) {
      at = plan.kept.data() + slot.offset;
    } else if (slot.home == SlotInfo::Home::state) {
      at = state.data(slot.name);
    } else {
      at = const_cast<std::byte*>(slot.constant.bytes().data());
    }
  }
  if (bound.state != &state) bound.known_at = 0;
  bound.state = &state;
  bound.arena = arena_.data();
  if (bound.has_kept) return;
  const eval::RandomKey none;
  run_actions(bound.plan->once, {.pointers = bound.pointers.data(), .random = &none}, *times_);
  bound.has_kept = true;
}

TensorMap Program::run(const TensorMap& inputs, State& state, const eval::RandomKey& random) {
  TensorMap outputs = compute(inputs, state, random);
  commit(state);
  return outputs;
}

Program& Program::run_on(BoundPlan& bound, const TensorMap& inputs, const State& state,
                         const eval::RandomKey& random) {
  Continuation& rest = *bound.plan->rest;
  rest.inputs = inputs;
  for (const Plan::Result& output : bound.plan->outputs) {
    const SlotInfo& info = bound.plan->slots[static_cast<size_t>(output.slot)];
    rest.inputs.insert_or_assign(
        output.name,
        Tensor::view(info.dtype, info.dims, {at(bound, output.slot), info.bytes}, nullptr));
  }
  node_by_node(rest.subgraphs, [&] { rest.run_dynamic(state, random); });
  return *rest.program;
}

/// Does what reference kernels do, but for the graphs inside of nodes, which have plans.
void Program::node_by_node(const PlannedSubgraphs& subgraphs, const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  const TimeSpent before = subgraphs.times();
  work();
  const TimeSpent after = subgraphs.times();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  const double in_plans = after.fast() - before.fast();
  times_->add(seconds, std::max(0.0, seconds - in_plans));
}

TensorMap Program::compute(const TensorMap& inputs, const State& state,
                           const eval::RandomKey& random) {
  BoundPlan& bound = bound_for(inputs, state);
  last_ = &bound;
  if (!bound.plan) return interpret(inputs, state, random);
  bind(bound, &inputs, state);
  ++bound.runs;
  const Run run{.pointers = bound.pointers.data(), .random = &random};
  run_actions(bound.plan->micro, run, *times_);
  if (bound.plan->rest) {
    Program& rest = run_on(bound, inputs, state, random);
    return rest.compute(bound.plan->rest->inputs, state, random);
  }
  require_finite(bound);
  accumulation_->ranges = gradient_ranges(bound);
  run_actions(bound.plan->update, run, *times_);
  reserve_tiles(bound.plan->tile_registers);
  return outputs_of(bound, {false, true});
}

/// Where the operands of the commit lie: as it is known of gradients and state, or as they are.
std::optional<std::vector<Range>> Program::operands_of_commit(Ranges which) {
  BoundPlan& bound = *last_;
  std::vector<Range> ranges;
  for (size_t i = 0; i < bound.plan->operands.size(); ++i) {
    const Plan::Operand& operand = bound.plan->operands[i];
    const SlotInfo& slot = bound.plan->slots[static_cast<size_t>(operand.slot)];
    FoundRange& known = bound.known[i];
    if (operand.gradient) known = accumulation_->ranges[*operand.gradient];
    const bool may_change =
        operand.kind == Plan::Operand::Kind::other && slot.home != SlotInfo::Home::constant;
    if (which == Ranges::measured || may_change || !known) {
      known = find_range(slot.dtype, slot.dims, at(bound, operand.slot));
    }
    if (!known) return std::nullopt;
    ranges.push_back(*known);
  }
  return ranges;
}

/// Where the results of the commit will lie; nothing where one may not be finite. What is known of
/// the state is wider from step to step than what is true of it: once that is too wide, after some
/// hundred steps of Adam, the state is looked at again.
std::optional<std::vector<Range>> Program::bounds_of_commit(const State& state) {
  BoundPlan& bound = *last_;
  if (bound.known_at != state.changes()) bound.known.clear();
  bound.known.resize(bound.plan->operands.size());
  for (const Ranges which : {Ranges::known, Ranges::measured}) {
    auto operands = operands_of_commit(which);
    if (!operands) return std::nullopt;
    if (auto results = bound.plan->bounds.results_of(std::move(*operands))) return results;
  }
  return std::nullopt;
}

/// Writes what can't but be finite, and keeps in mind what is known of it.
void Program::commit_bounded(const State& state, const std::vector<Range>& results) {
  BoundPlan& bound = *last_;
  const Plan& plan = *bound.plan;
  const eval::RandomKey none;
  run_actions(bound.plan->commit, {.pointers = bound.pointers.data(), .random = &none}, *times_);
  run_copies(bound, Copies::all);
  state.note_change();
  for (size_t i = 0; i < plan.operands.size(); ++i) {
    if (plan.operands[i].kind != Plan::Operand::Kind::state) continue;
    if (const auto update = plan.operands[i].update) {
      bound.known[i] = with_rounding(results[*update]);
    } else if (!plan.copies.empty()) {
      bound.known[i].reset();
    }
  }
  bound.known_at = state.changes();
}

void Program::commit(State& state) {
  if (last_->plan && last_->plan->rest) return last_->plan->rest->program->commit(state);
  if (!last_->plan) {
    for (const auto& [name, tensor] : new_state_) state.set(name, tensor);
    new_state_.clear();
    return;
  }
  refuse_copies_not_finite(*last_);
  if (const auto bounds = bounds_of_commit(state)) return commit_bounded(state, *bounds);
  StateUndo undo(state);
  undo.keep(targets_);
  const eval::RandomKey none;
  run_actions(last_->plan->commit, {.pointers = last_->pointers.data(), .random = &none}, *times_);
  run_copies(*last_, Copies::all);
  state.note_change();
  for (const std::string& name : targets_) {
    const Tensor now = state.view(name);
    refuse_not_finite({.name = name,
                       .dtype = now.dtype(),
                       .dims = now.dims(),
                       .elements = now.bytes().data(),
                       .old = undo.kept(name)});
  }
  undo.dismiss();
}

void Program::begin_micro_batches() { *accumulation_ = {}; }

TensorMap Program::run_micro(const TensorMap& inputs, State& state, const eval::RandomKey& random) {
  return run_micro(inputs, state, random, examples_in(*step_.graph, inputs));
}

TensorMap Program::run_micro(const TensorMap& inputs, State& state, const eval::RandomKey& random,
                             int64_t examples) {
  BoundPlan& bound = bound_for(inputs, state);
  last_ = &bound;
  if (!bound.plan) {
    throw Error("gradients cannot be accumulated over values that are not tensors");
  }
  bind(bound, &inputs, state);
  ++bound.runs;
  run_actions(bound.plan->micro, {.pointers = bound.pointers.data(), .random = &random}, *times_);
  if (bound.plan->rest) {
    Program& rest = run_on(bound, inputs, state, random);
    return rest.run_micro(bound.plan->rest->inputs, state, random, examples);
  }
  require_finite(bound);
  accumulation_->widen(gradient_ranges(bound));
  const double weight = accumulation_->weigh(examples);
  accumulation_->sums.resize(bound.plan->gradients.size());
  for (size_t g = 0; g < accumulation_->sums.size(); ++g) {
    const SlotIndex slot = bound.plan->gradients[g];
    add_up(bound.plan->slots[static_cast<size_t>(slot)], at(bound, slot), weight,
           accumulation_->sums[g]);
  }
  TensorMap outputs = outputs_of(bound, {false});
  run_copies(bound, Copies::of_batches);
  state.note_change();
  return outputs;
}

TensorMap Program::compute_update(const State& state, const eval::RandomKey& random) {
  if (!last_ || accumulation_->total == 0)
    throw Error("there are no accumulated gradients to apply");
  if (last_->plan->rest) return last_->plan->rest->program->compute_update(state, random);
  bind(*last_, nullptr, state);
  Plan& plan = *last_->plan;
  for (size_t g = 0; g < accumulation_->sums.size(); ++g) {
    const SlotIndex slot = plan.gradients[g];
    write_mean(plan.slots[static_cast<size_t>(slot)], accumulation_->sums[g], accumulation_->total,
               at(*last_, slot));
  }
  run_actions(plan.update, {.pointers = last_->pointers.data(), .random = &random}, *times_);
  reserve_tiles(plan.tile_registers);
  return outputs_of(*last_, {true});
}

std::string Program::explain() const {
  if (!last_) return "nothing has been run yet\n";
  if (!last_->plan) {
    return "some values are not tensors: every node runs on the reference kernels\n" +
           subgraphs_.explain();
  }
  const Plan& plan = *last_->plan;
  double total = 1e-30;
  for (const auto* actions : {&plan.micro, &plan.update, &plan.commit}) {
    for (const Action& action : *actions) total += action.seconds;
  }
  std::string text = fmt::format("{} operations, {:.1f} MB, {:.3f} ms per step\n",
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
  for (const Action& action : plan.once) {
    text += fmt::format("once           {:24} {}\n", action.kernel, action.label);
  }
  list("micro", plan.micro);
  list("update", plan.update);
  list("commit", plan.commit);
  if (plan.rest) {
    text += fmt::format("then {} nodes one by one, since shapes depend on data, and\n",
                        plan.rest->dynamic.graph->nodes().size());
    text += plan.rest->subgraphs.explain();
    text += plan.rest->program->explain();
  }
  return text;
}

}  // namespace onward
