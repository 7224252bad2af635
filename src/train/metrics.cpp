#include "train/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/suggestion.h"
#include "onward/error.h"
#include "ops/op_def.h"

namespace onward {
namespace {

bool is_class_loss(const Node& node) { return input_role(node, 1) == InputRole::label; }

bool is_integer_tensor(const Value& value) {
  return value.type.is_tensor() && is_integer(value.type.dtype);
}

/// The sum of the elements: what Gradient differentiates where they are more than one.
double sum_of(const Tensor& loss) {
  double sum = 0;
  for (int64_t i = 0; i < loss.size(); ++i) sum += loss.number(i);
  return sum;
}

struct Judged {
  int64_t right = 0, all = 0;
};

template <typename T>
Judged judge(const Tensor& scores, const Tensor& labels, std::optional<int64_t> ignored) {
  const auto& dims = scores.dims();
  const int64_t classes = dims[1];
  const int64_t inner = labels.dims().empty() || dims[0] == 0 ? 1 : labels.size() / dims[0];
  const auto values = scores.data<T>();
  Judged judged;
  for (int64_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels.integer(i);
    if (ignored && label == *ignored) continue;
    const T* first = values.data() + (i / inner) * classes * inner + i % inner;
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c) {
      if (first[c * inner] > first[best * inner]) best = c;
    }
    judged.right += best == label;
    ++judged.all;
  }
  return judged;
}

bool fit(const Tensor& scores, const Tensor& labels) {
  if (scores.dims().size() != labels.dims().size() + 1 || scores.dims().size() < 2) return false;
  std::vector<int64_t> without_classes = scores.dims();
  without_classes.erase(without_classes.begin() + 1);
  return without_classes == labels.dims();
}

}  // namespace

Value* find_scores(const Graph& inference, const Type& labels) {
  Value* found = nullptr;
  for (Value* output : inference.outputs()) {
    const Type& type = output->type;
    const bool is_real = type.dtype == DType::f32 || type.dtype == DType::f64;
    if (!type.is_tensor() || !is_real || !type.shape || !labels.shape) continue;
    if (type.shape->size() != labels.shape->size() + 1 || type.shape->size() < 2) continue;
    if ((*type.shape)[1].value.value_or(2) < 2) continue;
    if (found) return nullptr;
    found = output;
  }
  return found;
}

StepMetrics find_metrics(const Model& step, const Graph& inference) {
  StepMetrics metrics;
  const Node* class_loss = nullptr;
  for (const auto& node : step.graph->nodes()) {
    if (const auto* y = node->get<References>("y"); y && node->op == "Gradient") {
      const std::string& name = y->values.at(0)->name();
      if (std::ranges::find(metrics.losses, name) == metrics.losses.end()) {
        metrics.losses.push_back(name);
      }
    } else if (!class_loss && is_class_loss(*node) && is_integer_tensor(*node->input(1))) {
      class_loss = node.get();
    }
  }
  if (class_loss) {
    metrics.scores = class_loss->input(0)->name();
    metrics.labels = class_loss->input(1)->name();
    if (const auto* ignored = class_loss->get<int64_t>("ignore_index")) metrics.ignored = *ignored;
    return metrics;
  }
  const Value* labels = nullptr;
  for (const Value* input : step.graph->inputs()) {
    const bool is_models_own = std::ranges::any_of(
        inference.inputs(), [&](const Value* each) { return each->name() == input->name(); });
    if (is_models_own || !is_integer_tensor(*input)) continue;
    if (labels) return metrics;
    labels = input;
  }
  if (!labels) return metrics;
  if (const Value* scores = find_scores(inference, labels->type)) {
    metrics.scores = scores->name();
    metrics.labels = labels->name();
  }
  return metrics;
}

MetricTotals::Loss& MetricTotals::loss(const std::string& name, size_t info) {
  const auto found = std::ranges::find_if(
      losses, [&](const Loss& each) { return each.name == name && each.info == info; });
  return found != losses.end() ? *found : losses.emplace_back(Loss{.name = name, .info = info});
}

void MetricTotals::add(const StepMetrics& metrics, const TensorMap& outputs,
                       const TensorMap& inputs, int64_t examples, size_t info) {
  for (const std::string& name : metrics.losses) {
    Loss& total = loss(name, info);
    total.sum += sum_of(outputs.at(name)) * static_cast<double>(examples);
    total.examples += examples;
  }
  if (!metrics.has_accuracy()) return;
  const auto computed = outputs.find(metrics.labels);
  const Tensor& labels = computed != outputs.end() ? computed->second : inputs.at(metrics.labels);
  const Tensor& scores = outputs.at(metrics.scores);
  if (!fit(scores, labels)) return;
  Judged judged;
  if (scores.dtype() == DType::f32) judged = judge<float>(scores, labels, metrics.ignored);
  if (scores.dtype() == DType::f64) judged = judge<double>(scores, labels, metrics.ignored);
  right += judged.right;
  this->judged += judged.all;
}

void MetricTotals::add(const MetricTotals& other) {
  for (const Loss& each : other.losses) {
    Loss& total = loss(each.name, each.info);
    total.sum += each.sum;
    total.examples += each.examples;
  }
  right += other.right;
  judged += other.judged;
}

Summary MetricTotals::summary() const {
  Summary summary;
  for (const Loss& each : losses) {
    const bool is_unique = std::ranges::count(losses, each.name, &Loss::name) == 1;
    summary.losses.emplace_back(
        is_unique ? each.name : fmt::format("{} of info {}", each.name, each.info),
        each.sum / static_cast<double>(each.examples));
  }
  if (judged > 0) summary.accuracy = static_cast<double>(right) / static_cast<double>(judged);
  return summary;
}

double metric_of(const Summary& summary, const std::string& name) {
  if (name == "accuracy" && summary.accuracy) return *summary.accuracy;
  std::vector<std::string> names;
  if (summary.accuracy) names.emplace_back("accuracy");
  if (summary.losses.size() == 1) names.emplace_back("loss");
  for (const auto& [loss, value] : summary.losses) {
    if (name == loss || (name == "loss" && summary.losses.size() == 1)) return value;
    if (loss != "loss") names.push_back(loss);
  }
  throw Error(unknown_name("metric", name, names));
}

bool is_better(const std::string& metric, double value, double than) {
  return metric == "accuracy" ? value > than : value < than;
}

std::string to_string(const Summary& summary) {
  std::string text;
  for (const auto& [name, value] : summary.losses) {
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", name, value);
  }
  if (summary.accuracy) {
    text += fmt::format("{}accuracy {:.2f} %", text.empty() ? "" : ", ", 100 * *summary.accuracy);
  }
  return text;
}

}  // namespace onward
