#include "train/trainer.h"

#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "ir/lift.h"
#include "onward/error.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

/// A graph of the model alone, lifted: the inference graph, or an initialization.
Model only(const Model& model, const Graph& graph) {
  Model part;
  part.ir_version = model.ir_version;
  part.opsets = model.opsets;
  ValueMap map;
  clone_into(graph, *part.graph, map);
  for (Value* output : graph.outputs()) part.graph->add_output(mapped(map, output));
  lift(part);
  Problems problems;
  infer_types(part, problems);
  problems.throw_if_errors();
  return part;
}

/// The results of the Gradient nodes: where a step is cut into its micro and its update part.
std::vector<std::string> gradient_names(const Model& step) {
  std::vector<std::string> names;
  for (const auto& node : step.graph->nodes()) {
    if (node->op != "Gradient" || node->domain != "ai.onnx.preview.training") continue;
    for (const auto& output : node->outputs()) {
      if (output) names.push_back(output->name());
    }
  }
  return names;
}

}  // namespace

Trainer::Trainer(Model model, TrainerOptions options)
    : model_(std::move(model)), options_(options), state_(model_) {
  set_threads(options.threads);
  step_programs_.resize(model_.training.size());
}

Program& Trainer::step_program(size_t info) {
  if (info >= step_programs_.size()) {
    throw Error("there is no training info " + std::to_string(info) + ": the model has " +
                std::to_string(step_programs_.size()));
  }
  if (!step_programs_[info]) {
    Model step = join_step(model_, info);
    const std::vector<std::string> gradients = gradient_names(step);
    replace_gradients(step);
    step_programs_[info].emplace(std::move(step), gradients);
  }
  return *step_programs_[info];
}

TensorMap Trainer::step(const TensorMap& inputs, std::optional<size_t> info) {
  TensorMap outputs;
  const eval::RandomKey random{.seed = options_.seed, .step = steps_};
  for (size_t i = info.value_or(0); i < (info ? *info + 1 : step_programs_.size()); ++i) {
    outputs.merge(step_program(i).run(inputs, state_, random));
  }
  ++steps_;
  return outputs;
}

TensorMap Trainer::step_accumulated(std::span<const TensorMap> micro_batches,
                                    std::optional<size_t> info) {
  TensorMap outputs;
  eval::RandomKey random{.seed = options_.seed, .step = steps_};
  for (size_t i = info.value_or(0); i < (info ? *info + 1 : step_programs_.size()); ++i) {
    for (size_t m = 0; m < micro_batches.size(); ++m) {
      random.micro_batch = m;
      TensorMap of_info = step_program(i).run_micro(micro_batches[m], state_, random);
      if (m + 1 == micro_batches.size()) outputs.merge(of_info);
    }
    step_program(i).run_update(state_, random);
  }
  ++steps_;
  return outputs;
}

TensorMap Trainer::infer(const TensorMap& inputs) {
  if (!inference_) inference_.emplace(only(model_, *model_.graph));
  return inference_->run(inputs, state_, {.seed = options_.seed, .step = steps_});
}

void Trainer::initialize() {
  for (const TrainingInfo& info : model_.training) {
    if (!info.initialization) continue;
    Program program(only(model_, *info.initialization));
    const TensorMap values = program.run({}, state_, {.seed = options_.seed});
    for (const Binding& binding : info.initialization_bindings) {
      state_.set(binding.target->name(), values.at(binding.source->name()));
    }
  }
}

std::string Trainer::explain() const {
  std::string text;
  for (const auto& program : step_programs_) {
    if (program) text += program->explain();
  }
  return text;
}

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

}  // namespace onward
