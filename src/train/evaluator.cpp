#include "train/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/convert.h"
#include "data/image_reader.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "onward/error.h"
#include "recipe/loss_def.h"
#include "runtime/parallel.h"
#include "train/step_parts.h"

namespace onward {

namespace {

/// Losses of a step, and whatever else is asked for of it.
std::vector<Value*> reported_of(const Model& step, const StepMetrics& metrics) {
  std::vector<Value*> outputs;
  if (!metrics.asked.empty()) {
    for (const std::string* name : {&metrics.scores, &metrics.labels}) {
      Value* value = find_value(step, *name);
      if (value && value->producer()) outputs.push_back(value);
    }
  }
  for (const std::string& name : metrics.losses) {
    Value* loss = find_value(step, name);
    if (std::ranges::find(outputs, loss) == outputs.end()) outputs.push_back(loss);
  }
  return outputs;
}

void ask_for_all(const EvaluateOptions& options, StepMetrics& metrics) {
  ask_for(options.metrics, metrics);
  const std::string& watched = options.watched;
  const bool is_loss = std::ranges::find(metrics.losses, watched) != metrics.losses.end();
  const auto asked = is_loss ? std::nullopt : find_metric(watched);
  if (!asked || !fits(*asked->def, metrics.how)) return;
  if (std::ranges::find(metrics.asked, watched, &AskedMetric::name) == metrics.asked.end()) {
    metrics.asked.push_back(*asked);
  }
}

/// What an array of numbers beside an output may be, in a model without a loss that would say it.
Comparison comparison_of(const Value& output, const EvaluateOptions& options) {
  const Comparison regression{.task = Task::regression};
  for (const std::string& name : options.metrics) {
    if (fits(*required_metric(name).def, regression)) return regression;
  }
  const Node* last = output.producer();
  const auto& before_logits = find_loss("bce_with_logits")->inside;
  const bool are_probabilities =
      last && std::ranges::find(before_logits, last->op) != before_logits.end();
  return {.task = Task::binary, .threshold = are_probabilities ? 0.5 : 0};
}

/// The array's type with the number of examples left open.
Type type_of_labels(const Tensor& array) {
  Type type = array.type();
  if (!type.shape->empty()) type.shape->front() = Dim{};
  return type;
}

}  // namespace

Evaluator::Evaluator(const Model& model, std::span<const size_t> infos, const Dataset& data,
                     const EvaluateOptions& options)
    : inputs_(input_slots(model, infos)) {
  for (const size_t info : infos) {
    add_info(model, info, options);
    for (const Binding& binding : model.training[info].update_bindings) {
      trained_.insert(binding.target->name());
    }
  }
  if (infos.empty()) add_inference(model, data, options);
  require_fit(options);
}

void Evaluator::add(size_t info, StepMetrics metrics, Model step) {
  const std::vector<Value*> outputs(step.graph->outputs().begin(), step.graph->outputs().end());
  auto program = std::make_unique<Program>(part_for(step, outputs, Updates::dropped));
  parts_.push_back({info, std::move(metrics), std::move(step), std::move(program)});
}

void Evaluator::add_info(const Model& model, size_t info, const EvaluateOptions& options) {
  Model step = join_step(model, info);
  StepMetrics metrics = find_metrics(step, model, info);
  ask_for_all(options, metrics);
  use_inference_mode(step);
  const std::vector<Value*> outputs = reported_of(step, metrics);
  if (outputs.empty()) {
    throw Error(fmt::format(
        "training info {} has neither a Gradient node, whose y would be the loss, nor labels",
        info));
  }
  Model part = part_for(step, outputs, Updates::dropped);
  replace_gradients(part);  // a loss may hold a gradient itself
  add(info, std::move(metrics), std::move(part));
}

void Evaluator::add_inference(const Model& model, const Dataset& data,
                              const EvaluateOptions& options) {
  const auto is_input = [&](const std::string& array) {
    return std::ranges::any_of(inputs_, [&](const InputSlot& slot) {
      const auto renamed = options.names.find(slot.name);
      return (renamed == options.names.end() ? slot.name : renamed->second) == array;
    });
  };
  Model inference = graph_alone(model, *model.graph);
  StepMetrics metrics;
  const auto compare = [&](const std::string& array, const Value& scores, const Comparison& how,
                           const Type& type) {
    if (metrics.compares()) {
      throw Error(fmt::format("both '{}' and '{}' could be the labels: leave one out",
                              metrics.labels, array));
    }
    metrics.scores = scores.name();
    metrics.labels = array;
    metrics.how = how;
    inputs_.push_back({.name = array, .type = type});
  };
  for (const auto& [name, type] : data.types()) {
    if (is_input(name) || !is_integer(type.dtype)) continue;
    const Value* scores = find_scores(*inference.graph, type);
    if (!scores) continue;
    compare(name, *scores, {.task = Task::classes, .has_places = type.shape->size() > 1},
            data.arrays().contains(name) ? Type::tensor(type.dtype) : type);
  }
  const bool asks = !options.metrics.empty() && inference.graph->outputs().size() == 1;
  if (asks && !metrics.compares()) {
    const Value& output = *inference.graph->outputs()[0];
    for (const auto& [name, array] : data.arrays()) {
      if (is_input(name) || array.dims().empty() || !output.type.shape) continue;
      const bool is_number = is_float(array.dtype()) || is_integer(array.dtype());
      Type type = type_of_labels(with_fitting_rank(array, output.type));
      type.dtype = output.type.dtype;
      if (!is_number || conflict(output.type, type)) continue;
      compare(name, output, comparison_of(output, options), output.type);
    }
  }
  if (!metrics.compares()) {
    throw Error(
        fmt::format("nothing to evaluate: the model has no loss (training info), and no array of "
                    "integer labels matches its outputs; the data has {}",
                    data.description()));
  }
  ask_for_all(options, metrics);
  add(0, std::move(metrics), std::move(inference));
}

Evaluator::Split Evaluator::split_off_frozen(const Feeds& feeds, int64_t batch,
                                             const FrozenOptions& options) {
  if (parts_.size() != 1) return {.reason = "several training infos are evaluated"};
  if (std::string reason = why_not_kept(feeds); !reason.empty()) {
    return {.reason = std::move(reason)};
  }
  Part& part = parts_[0];
  const std::vector<BatchTypes> batches = batch_types(feeds, batch);
  FrozenRequest request{.trained = trained_, .forward = part.metrics.losses, .batches = batches};
  request.forward.push_back(part.metrics.scores);
  FrozenSplit split = split_frozen(part.step, request);
  if (!split.prefix) return {.reason = std::move(split.reason)};
  std::vector<std::string> read = {part.metrics.labels};
  for (const Value* input : split.prefix->rest.graph->inputs()) read.push_back(input->name());
  part.program = std::make_unique<Program>(std::move(split.prefix->rest));
  frozen_ = std::make_unique<FrozenPart>(std::move(*split.prefix), feeds, read, options);
  return {.part = frozen_.get()};
}

void Evaluator::require_fit(const EvaluateOptions& options) const {
  Summary names;  // of what there will be
  for (const Part& part : parts_) {
    for (const std::string& loss : part.metrics.losses) names.losses.emplace_back(loss, 0);
    for (const AskedMetric& asked : part.metrics.asked) {
      if (asked.def->mean || asked.def->finish) names.metrics.emplace_back(asked.name, 0);
    }
  }
  const auto first =
      std::ranges::find_if(parts_, [](const Part& part) { return part.metrics.compares(); });
  const Comparison how = first == parts_.end() ? Comparison{} : first->metrics.how;
  const auto require = [&](const std::string& name) {
    const AskedMetric asked = required_metric(name);
    const auto count = std::ranges::count_if(
        parts_, [&](const Part& part) { return fits(*asked.def, part.metrics.how); });
    if (count == 0) throw Error(misfit(asked, how));
    if (count > 1 && parts_.size() > 1) {
      throw Error(
          fmt::format("metric '{}' fits {} training infos: choose one with --info", name, count));
    }
  };
  for (const std::string& name : options.metrics) require(name);
  if (options.watched.empty()) return;
  try {
    metric_of(names, options.watched);
  } catch (const Error&) {
    if (find_metric(options.watched)) require(options.watched);
    throw;
  }
}

Summary Evaluator::run(const Feeds& feeds, int64_t batch, State& state,
                       const std::function<void(int64_t)>& on_batch, const OnScores& on_scores) {
  MetricTotals totals;
  std::vector<EvaluationTally> tallies(parts_.size());
  std::vector<int64_t> rows(static_cast<size_t>(feeds.size()));
  std::iota(rows.begin(), rows.end(), 0);
  const Ahead ahead{.examples = 2 * std::min(batch, feeds.size()), .threads = onward::threads()};
  if (frozen_) {
    frozen_->expect(rows, ahead);
  } else {
    feeds.expect(rows, ahead);
  }
  for (int64_t first = 0; first < feeds.size(); first += batch) {
    rows.resize(static_cast<size_t>(std::min(batch, feeds.size() - first)));
    std::iota(rows.begin(), rows.end(), first);
    const TensorMap inputs = frozen_ ? frozen_->batch(rows, state) : feeds.batch(rows);
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const TensorMap outputs =
          part.program->run(inputs, state, {.micro_batch = static_cast<uint64_t>(first)});
      totals.add(part.metrics, outputs, inputs, static_cast<int64_t>(rows.size()), part.info);
      tallies[i].add(part.metrics, outputs, inputs);
      const auto scores = outputs.find(part.metrics.scores);
      const Task task = part.metrics.how.task;
      const bool has_classes = task == Task::classes || task == Task::binary;
      if (!on_scores || !has_classes || scores == outputs.end()) continue;
      const auto labels = outputs.find(part.metrics.labels);
      on_scores({.rows = rows,
                 .compared = {.how = part.metrics.how,
                              .scores = scores->second,
                              .labels = labels != outputs.end() ? labels->second
                                                                : inputs.at(part.metrics.labels)}});
    }
    if (on_batch) on_batch(first + static_cast<int64_t>(rows.size()));
  }
  const Summary means = totals.summary();
  Summary summary{.losses = means.losses};
  for (size_t i = 0; i < parts_.size(); ++i) tallies[i].finish(parts_[i].metrics, means, summary);
  return summary;
}

Summary evaluate(const Model& model, std::span<const size_t> infos, Dataset data, State& state,
                 const EvaluateOptions& options) {
  Evaluator evaluator(model, infos, data, options);
  Feeds feeds(std::move(data), evaluator.inputs(), options.names);
  if (options.on_feeds) options.on_feeds(feeds);
  const auto fixed = feeds.fixed_batch();
  const int64_t batch = options.batch_size.value_or(fixed.value_or(kEvaluationBatch));
  if (batch < 1) throw Error(fmt::format("the batch size is {}, but must be at least 1", batch));
  if (fixed && batch != *fixed) {
    throw Error(
        fmt::format("the model's batch size is fixed at {}: {} does not fit", *fixed, batch));
  }
  if (fixed && feeds.size() % batch != 0) {
    throw Error(fmt::format(
        "the model has a fixed batch size of {1}, which does not divide the {0} examples",
        feeds.size(), batch));
  }
  const auto on_batch = [&](int64_t done) {
    if (options.on_batch) options.on_batch(done, feeds.size());
  };
  return evaluator.run(feeds, batch, state, on_batch, options.on_scores);
}

}  // namespace onward
