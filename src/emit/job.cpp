#include "emit/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "grad/step.h"
#include "ir/dependence.h"
#include "ir/training_infos.h"
#include "onward/error.h"
#include "ops/legalize.h"

namespace onward::emit {
namespace {

using Values = std::unordered_map<std::string, const Value*>;

Values values_of(const Graph& graph) {
  Values values;
  for (const Value* value : graph.inputs()) values.emplace(value->name(), value);
  for (const Value* value : graph.initializers()) values.emplace(value->name(), value);
  for (const auto& node : graph.nodes()) {
    for (const auto& output : node->outputs()) {
      if (output) values.emplace(output->name(), output.get());
    }
  }
  return values;
}

Recognised recognised(const Model& model, size_t info) {
  require_info(model, info);
  if (auto found = recognise(model, info)) return std::move(*found);
  throw Error(fmt::format(
      "training info {} follows no recipe that Onward knows, so that its optimizer has no name in "
      "another framework; export the model alone with --inference",
      info));
}

StateTensor state_of(const Value* value) {
  if (!value->tensor()) throw Bug(fmt::format("state '{}' is no tensor", value->name()));
  return {value->name(), *value->tensor()};
}

/// The step, in which the standard's optimizer nodes are written out.
Model plain_step_graph(const Model& model, size_t info) {
  Model step = join_step(model, info);
  legalize(step, {.failure = "the optimizer cannot be written in plain operators",
                  .refuses = [](const Node& node) -> std::string {
                    const bool is_optimizer = node.domain == kTrainingDomain && has_expansion(node);
                    return is_optimizer ? "it is the standard's own optimizer" : "";
                  }});
  return step;
}

/// Each value of the training forward by the inference value that it stands for.
std::unordered_map<std::string, std::string> twins_of(const Recognised& found) {
  std::unordered_map<std::string, std::string> twins;
  for (const NodePair& pair : found.forward) {
    for (size_t i = 0; i < pair.inference->outputs().size(); ++i) {
      if (pair.inference->output(i) && pair.training->output(i)) {
        twins.emplace(pair.training->output(i)->name(), pair.inference->output(i)->name());
      }
    }
  }
  return twins;
}

/// Walks from the loss back to the model's values and to the algorithm's inputs.
void find_loss_inputs(const Model& model, size_t info, const Recognised& found, const Graph& graph,
                      Job& job) {
  const auto twins = twins_of(found);
  const Values inference = values_of(graph);
  Values algorithm_inputs;
  for (const Value* input : model.training[info].algorithm->inputs()) {
    algorithm_inputs.emplace(input->name(), input);
  }
  std::unordered_set<const Value*> seen;
  std::vector<const Value*> open = {job.loss_value};
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (!value || !seen.insert(value).second) continue;
    const auto twin = twins.find(value->name());
    const std::string& name = twin == twins.end() ? value->name() : twin->second;
    if (algorithm_inputs.contains(value->name())) {
      job.labels.push_back(value);
    } else if (const auto own = inference.find(name); own != inference.end()) {
      job.predictions.push_back(own->second);
      job.predictions_in_step.push_back(value);
    } else if (value->producer()) {
      for (const Value* input : value->producer()->inputs()) open.push_back(input);
    }
  }
}

TrainingFacts training_facts(const Model& model, const Recognised& found, const Values& inference) {
  TrainingFacts facts;
  facts.is_job = true;
  facts.batch_variance = found.recipe.batch_variance;
  facts.batch_momentum = found.recipe.batch_momentum;
  for (const TrainedTensor& each : found.trained) {
    facts.trained.insert(inference.at(each.parameter->name()));
  }
  for (const TrainingInfo& each : model.training) {
    for (const Binding& binding : each.update_bindings) {
      const auto own = inference.find(binding.target->name());
      if (own != inference.end()) facts.state.insert(own->second);
    }
  }
  for (const NodePair& pair : found.forward) {
    // Nodes that only follow another one in training behave as they do in inference.
    if (!is_in_training(*pair.training)) continue;
    const Value* output = inference.at(pair.inference->output(0)->name());
    facts.paired.emplace(output->producer(), pair.training);
  }
  return facts;
}

/// Where a gradient is not the slope of what is computed, a framework would find another one.
void refuse_estimated_gradients(const Job& job, const Graph& graph) {
  ValueSet depends;
  for (const TrainedParameter& each : job.trained) depends.insert(each.parameter);
  depends = with_results(graph, std::move(depends));
  for (const auto& node : graph.nodes()) {
    const bool is_trained_through =
        has_traits(*node, kStraightThrough) && depends.contains(node->input(0));
    if (!is_trained_through) continue;
    throw Error(fmt::format("{} '{}': what is trained through it has an estimated gradient, which "
                            "the exported source would not have; export the model alone with "
                            "--inference",
                            node->op, node->label()),
                ErrorCode::unsupported);
  }
}

/// What a step does besides loss and optimizer, which the source would not.
void refuse_more_than_the_optimizer(const Recipe& recipe) {
  std::string_view what;
  if (recipe.schedule != "constant" || !recipe.schedule_settings.empty()) {
    what = "a schedule of its learning rate";
  } else if (recipe.clip != Clipping{}) {
    what = "clipping of its gradients";
  } else if (!recipe.groups.empty() || !recipe.decays_biases) {
    what = "groups of parameters with settings of their own";
  }
  if (what.empty() && recipe.ema) what = "moving averages of its parameters";
  if (what.empty()) return;
  throw Error(fmt::format("a training step with {} cannot be exported: export the model alone with "
                          "--inference",
                          what),
              ErrorCode::unsupported);
}

}  // namespace

std::vector<std::string> Job::slot_names() const {
  std::vector<std::string> names;
  if (trained.empty()) return names;
  for (const JobSlot& slot : trained.front().slots) names.push_back(slot.slot);
  return names;
}

Job read_job(const Model& model, size_t info, const Graph& graph) {
  const Recognised found = recognised(model, info);
  refuse_more_than_the_optimizer(found.recipe);
  const Values inference = values_of(graph);
  Job job;
  job.optimizer = found.recipe.optimizer;
  for (const TrainedTensor& each : found.trained) {
    TrainedParameter parameter{inference.at(each.parameter->name()), each.gradient->name(), {}};
    for (const Slot& slot : each.slots) {
      parameter.slots.push_back({slot.name, state_of(slot.value)});
    }
    job.trained.push_back(std::move(parameter));
  }
  refuse_estimated_gradients(job, graph);
  job.learning_rate = state_of(found.learning_rate);
  if (found.step) job.step = state_of(found.step);
  job.loss = find_loss(found.recipe.loss);
  job.reduction = found.recipe.reduction;
  job.ignore_index = found.recipe.ignore_index;
  job.has_plain_loss = job.loss && !has_loss_settings(found.recipe);
  job.step_graph = plain_step_graph(model, info);
  job.loss_value = values_of(*job.step_graph.graph).at(found.loss->name());
  find_loss_inputs(model, info, found, graph, job);
  job.facts = training_facts(model, found, inference);
  job.facts.loss_reads = job.predictions;
  return job;
}

}  // namespace onward::emit
