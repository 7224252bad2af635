#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "check/check.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/copy.h"
#include "ir/rewrite.h"
#include "ir/training_infos.h"
#include "onward/error.h"
#include "opset/lift.h"
#include "proto/mapped_tensors.h"
#include "runtime/finite.h"
#include "runtime/parallel.h"
#include "runtime/program.h"
#include "train/not_finite.h"
#include "train/step_parts.h"

namespace onward {
namespace {

/// A program gives out no value that it binds to state; what is reported all the same is copied.
void copy_if_bound(Model& step, Value*& value, Names& names) {
  const auto& bindings = step.training[0].update_bindings;
  if (std::ranges::find(bindings, value, &Binding::source) == bindings.end()) return;
  Node* copy = step.graph->add_node("Identity", {value});
  copy->opset = *newest_opset("");
  Value* result = copy->add_output(names.fresh(value->name()), value->type);
  const std::string name = value->name(), other = result->name();
  step.graph->rename(value, "");
  step.graph->rename(result, name);
  step.graph->rename(value, other);
  value = result;
}

/// The part of a step that updates the state and computes what is reported.
Model reported_part(Model& step, const StepMetrics& metrics) {
  Names names(step);
  std::vector<Value*> outputs;
  const auto add = [&](const std::string& name) {
    Value* value = find_value(step, name);
    if (!value || !value->producer()) return;  // an input: whoever gives it has it
    copy_if_bound(step, value, names);
    if (std::ranges::find(outputs, value) == outputs.end()) outputs.push_back(value);
  };
  for (const std::string& loss : metrics.losses) add(loss);
  if (!metrics.asked.empty()) {
    add(metrics.scores);
    add(metrics.labels);
  }
  return part_for(step, outputs, Updates::kept);
}

Model in_memory(Model model) {
  read_mapped(model);
  return model;
}

/// What `onward check` calls invalid is not run.
void refuse_invalid(Model& model) {
  Problems problems;
  check(model, problems);
  problems.throw_if_errors();
}

std::vector<std::string> names_of(std::span<Value* const> values) {
  std::vector<std::string> names;
  for (const Value* value : values) names.push_back(value->name());
  return names;
}

/// The results of the Gradient nodes: where a step is cut into its micro and its update part.
std::vector<std::string> gradient_names(const Model& step) {
  std::vector<std::string> names;
  for (const auto& node : step.graph->nodes()) {
    if (node->op != "Gradient" || node->domain != kTrainingDomain) continue;
    for (const auto& output : node->outputs()) {
      if (output) names.push_back(output->name());
    }
  }
  return names;
}

}  // namespace

/// What a step is made of.
struct Trainer::Parts {
  StepMetrics metrics;
  Model step;
  std::vector<std::string> gradients;
};

struct Trainer::Step {
  explicit Step(Parts parts)
      : metrics(std::move(parts.metrics)),
        inputs(names_of(parts.step.graph->inputs())),
        program(std::move(parts.step), {std::move(parts.gradients), metrics.losses}) {}

  StepMetrics metrics;
  std::vector<std::string> inputs;
  Program program;
};

Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;

Trainer::Trainer(Model model, TrainerOptions options)
    : model_(in_memory(std::move(model))),
      options_(std::move(options)),
      threads_(thread_count(options_.threads)),
      state_(model_) {
  step_programs_.resize(model_.training.size());
  refuse_invalid(model_);
}

void Trainer::require_info(size_t info) const { onward::require_info(model_, info); }

Trainer::Parts Trainer::parts_of(size_t info) const {
  Parts parts;
  parts.step = join_step(model_, info);
  parts.metrics = find_metrics(parts.step, model_, info);
  ask_for(options_.metrics, parts.metrics);
  std::erase_if(parts.metrics.asked, [](const AskedMetric& asked) { return !asked.def->mean; });
  if (options_.only_metrics) parts.step = reported_part(parts.step, parts.metrics);
  parts.gradients = gradient_names(parts.step);
  replace_gradients(parts.step);
  return parts;
}

Trainer::Step& Trainer::step_of(size_t info) {
  require_info(info);
  if (!step_programs_[info]) step_programs_[info] = std::make_unique<Step>(parts_of(info));
  return *step_programs_[info];
}

FrozenSplit Trainer::split_off_frozen(size_t info, std::span<const BatchTypes> batches) {
  require_info(info);
  Parts parts = parts_of(info);
  FrozenRequest request{.forward = parts.metrics.losses, .batches = batches};
  request.forward.push_back(parts.metrics.scores);
  for (const Binding& binding : model_.training[info].update_bindings) {
    request.trained.insert(binding.target->name());
  }
  FrozenSplit split = split_frozen(parts.step, request);
  if (!split.prefix) return split;
  parts.step = std::move(split.prefix->rest);
  std::erase_if(parts.gradients,
                [&](const std::string& name) { return !find_value(parts.step, name); });
  step_programs_[info] = std::make_unique<Step>(std::move(parts));
  return split;
}

std::vector<std::string> Trainer::inputs(size_t info) { return step_of(info).inputs; }

TensorMap Trainer::step(const TensorMap& inputs, std::optional<size_t> info) {
  return step_accumulated({&inputs, 1}, info);
}

TensorMap Trainer::step_accumulated(std::span<const TensorMap> micro_batches,
                                    std::optional<size_t> info) {
  TensorMap all;
  step(micro_batches, chosen_infos(model_, info),
       [&](size_t, size_t micro_batch, const TensorMap& outputs) {
         if (micro_batch + 1 == micro_batches.size()) all.insert(outputs.begin(), outputs.end());
       });
  return all;
}

void Trainer::step(std::span<const TensorMap> micro_batches, std::span<const size_t> infos,
                   const OnOutputs& on_outputs) {
  if (micro_batches.empty()) throw Error("a step needs at least one batch");
  const Threads threads(threads_);
  const ConvMethodScope convolutions(options_.conv);
  try {
    compute_step(micro_batches, infos, on_outputs);
  } catch (NotFinite& error) {
    // With the state that it was refused from, which several infos have only before the first; and
    // once, as the user may go on.
    if (infos.size() == 1 && !was_explained_) {
      was_explained_ = true;
      const RefusedStep refused{.model = model_,
                                .info = infos[0],
                                .micro_batches = micro_batches,
                                .state = state_,
                                .random = {.seed = options_.seed, .step = steps_}};
      if (const auto node = find_not_finite_node(refused, error.name())) error.add_context(*node);
    }
    throw;
  }
}

void Trainer::compute_step(std::span<const TensorMap> micro_batches, std::span<const size_t> infos,
                           const OnOutputs& on_outputs) {
  eval::RandomKey random{.seed = options_.seed, .step = steps_};
  StateUndo undo(state_);
  for (const size_t& info : infos) {
    Program& program = step_of(info).program;
    if (micro_batches.size() == 1) {
      on_outputs(info, 0, program.compute(micro_batches[0], state_, random));
    } else {
      undo.keep(program.batch_targets());
      program.begin_micro_batches();
      for (size_t i = 0; i < micro_batches.size(); ++i) {
        random.micro_batch = i;
        TensorMap outputs = program.run_micro(micro_batches[i], state_, random);
        if (i + 1 == micro_batches.size()) outputs.merge(program.compute_update(state_, random));
        on_outputs(info, i, outputs);
      }
    }
    // Nothing can fail after the last commit.
    if (&info != &infos.back()) undo.keep(program.targets());
    program.commit(state_);
  }
  ++steps_;
  undo.dismiss();
}

Program& Trainer::inference() {
  if (!inference_) inference_ = std::make_unique<Program>(graph_alone(model_, *model_.graph));
  return *inference_;
}

TensorMap Trainer::infer(const TensorMap& inputs) {
  const Threads threads(threads_);
  const ConvMethodScope convolutions(options_.conv);
  return inference().run(inputs, state_, {.seed = options_.seed, .step = steps_});
}

Trainer::Values Trainer::infer_values(const TensorMap& inputs, const Values& containers) {
  const Threads threads(threads_);
  const ConvMethodScope convolutions(options_.conv);
  return inference().run_values(inputs, containers, state_,
                                {.seed = options_.seed, .step = steps_});
}

void Trainer::initialize() {
  const Threads threads(threads_);
  const ConvMethodScope convolutions(options_.conv);
  StateUndo undo(state_);
  for (const TrainingInfo& info : model_.training) {
    if (!info.initialization) continue;
    Program program(graph_alone(model_, *info.initialization));
    const TensorMap values = program.run({}, state_, {.seed = options_.seed});
    for (const Binding& binding : info.initialization_bindings) {
      const std::string& name = binding.target->name();
      const Tensor& value = values.at(binding.source->name());
      undo.keep({&name, 1});
      state_.set(name, value);
      refuse_not_finite({.name = name,
                         .dtype = value.dtype(),
                         .dims = value.dims(),
                         .elements = value.bytes().data(),
                         .old = undo.kept(name),
                         .advice = "the model's initialization computes it"});
    }
  }
  undo.dismiss();
}

std::string Trainer::explain() const {
  std::string text;
  TimeSpent times;
  const auto add = [&](const Program& program) {
    text += program.explain();
    times.add(program.times().all, program.times().reference);
  };
  for (const auto& step : step_programs_) {
    if (step) add(step->program);
  }
  if (text.empty() && inference_) add(*inference_);
  if (times.all > 0) {
    text += fmt::format("{:.1f} % of the time in kernel '{}'\n", 100 * times.reference / times.all,
                        kReferenceKernel);
  }
  return text;
}

std::vector<KernelTime> Trainer::kernel_times() const {
  std::vector<KernelTime> times;
  for (const auto& step : step_programs_) {
    if (step) add_times(times, step->program.kernel_times());
  }
  return times;
}

const StepMetrics& Trainer::metrics(size_t info) { return step_of(info).metrics; }

const Model& Trainer::model() {
  for_each_top_level_graph(model_, [&](Graph& graph, GraphRole) {
    for (Value* initializer : graph.initializers()) {
      if (state_.has(initializer->name())) {
        graph.set_initializer(initializer, state_.get(initializer->name()));
      }
    }
  });
  return model_;
}

std::optional<std::string> Trainer::find_spoiled() const {
  std::optional<std::string> found;
  for_each_top_level_graph(model_, [&](const Graph& graph, GraphRole) {
    for (const Value* initializer : graph.initializers()) {
      const std::string& name = initializer->name();
      if (found || !state_.has(name)) continue;
      const Tensor& old = *initializer->tensor();
      if (find_not_finite({.name = name,
                           .dtype = old.dtype(),
                           .dims = old.dims(),
                           .elements = state_.data(name),
                           .old = old.bytes().data()})) {
        found = name;
      }
    }
  });
  return found;
}

void Trainer::restore_model_state() {
  for_each_top_level_graph(model_, [&](Graph& graph, GraphRole) {
    for (Value* initializer : graph.initializers()) {
      if (state_.has(initializer->name())) state_.set(initializer->name(), *initializer->tensor());
    }
  });
}

void Trainer::set_metadata(const std::string& key, const std::string& value) {
  std::erase_if(model_.metadata, [&](const auto& entry) { return entry.first == key; });
  if (!value.empty()) model_.metadata.emplace_back(key, value);
}

Model Trainer::inference_model() {
  Model inference = copy(model());
  inference.training.clear();
  bool is_used = false;
  for_each_node(*inference.graph,
                [&](const Node& node) { is_used |= node.domain == kTrainingDomain; });
  if (!is_used) {
    std::erase_if(inference.opsets,
                  [&](const OpsetImport& each) { return each.domain == kTrainingDomain; });
  }
  return inference;
}

}  // namespace onward
