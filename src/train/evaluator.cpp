#include "train/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/image_reader.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "onward/error.h"
#include "runtime/parallel.h"
#include "train/step_parts.h"

namespace onward {

Evaluator::Evaluator(const Model& model, std::span<const size_t> infos, const Dataset& data,
                     const ArrayNames& names)
    : inputs_(input_slots(model, infos)) {
  for (const size_t info : infos) add_info(model, info);
  if (infos.empty()) add_inference(model, data, names);
}

void Evaluator::add_info(const Model& model, size_t info) {
  Model step = join_step(model, info);
  StepMetrics metrics = find_metrics(step, *model.graph);
  use_inference_mode(step);
  std::vector<Value*> outputs;
  for (const std::string* name : {&metrics.scores, &metrics.labels}) {
    Value* value = find_value(step, *name);
    if (value && value->producer()) outputs.push_back(value);
  }
  for (const std::string& name : metrics.losses) outputs.push_back(find_value(step, name));
  if (outputs.empty()) {
    throw Error(fmt::format(
        "training info {} has neither a Gradient node, whose y would be the loss, nor labels",
        info));
  }
  Model part = part_for(step, outputs, Updates::dropped);
  replace_gradients(part);  // a loss may hold a gradient itself
  parts_.push_back({info, std::move(metrics), std::make_unique<Program>(std::move(part))});
}

void Evaluator::add_inference(const Model& model, const Dataset& data, const ArrayNames& names) {
  const auto is_input = [&](const std::string& array) {
    return std::ranges::any_of(inputs_, [&](const InputSlot& slot) {
      const auto renamed = names.find(slot.name);
      return (renamed == names.end() ? slot.name : renamed->second) == array;
    });
  };
  Model inference = graph_alone(model, *model.graph);
  StepMetrics metrics;
  for (const auto& [name, type] : data.types()) {
    if (is_input(name) || !is_integer(type.dtype)) continue;
    const Value* scores = find_scores(*inference.graph, type);
    if (!scores) continue;
    if (metrics.has_accuracy()) {
      throw Error(fmt::format("both '{}' and '{}' could be the labels: leave one out",
                              metrics.labels, name));
    }
    metrics.scores = scores->name();
    metrics.labels = name;
    inputs_.push_back(
        {.name = name, .type = data.arrays().contains(name) ? Type::tensor(type.dtype) : type});
  }
  if (!metrics.has_accuracy()) {
    throw Error(
        fmt::format("nothing to evaluate: the model has no loss (training info), and no array of "
                    "integer labels matches its outputs; the data has {}",
                    data.description()));
  }
  parts_.push_back({0, std::move(metrics), std::make_unique<Program>(std::move(inference))});
}

Summary Evaluator::run(const Feeds& feeds, int64_t batch, State& state,
                       const std::function<void(int64_t)>& on_batch) {
  MetricTotals totals;
  std::vector<int64_t> rows(static_cast<size_t>(feeds.size()));
  std::iota(rows.begin(), rows.end(), 0);
  feeds.expect(rows, {.examples = 2 * std::min(batch, feeds.size()), .threads = onward::threads()});
  for (int64_t first = 0; first < feeds.size(); first += batch) {
    rows.resize(static_cast<size_t>(std::min(batch, feeds.size() - first)));
    std::iota(rows.begin(), rows.end(), first);
    const TensorMap inputs = feeds.batch(rows);
    for (Part& part : parts_) {
      const TensorMap outputs =
          part.program->run(inputs, state, {.micro_batch = static_cast<uint64_t>(first)});
      totals.add(part.metrics, outputs, inputs, static_cast<int64_t>(rows.size()), part.info);
    }
    if (on_batch) on_batch(first + static_cast<int64_t>(rows.size()));
  }
  return totals.summary();
}

Summary evaluate(const Model& model, std::span<const size_t> infos, Dataset data, State& state,
                 const EvaluateOptions& options) {
  Evaluator evaluator(model, infos, data, options.names);
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
  return evaluator.run(feeds, batch, state, [&](int64_t done) {
    if (options.on_batch) options.on_batch(done, feeds.size());
  });
}

}  // namespace onward
