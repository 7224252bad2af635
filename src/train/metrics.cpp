#include "train/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/suggestion.h"
#include "onward/error.h"

namespace onward {
namespace {

/// The sum of the elements: what Gradient differentiates where they are more than one.
double sum_of(const Tensor& loss) {
  double sum = 0;
  for (int64_t i = 0; i < loss.size(); ++i) sum += loss.number(i);
  return sum;
}

Compared compared(const StepMetrics& metrics, const TensorMap& outputs, const TensorMap& inputs) {
  const auto find = [&](const std::string& name) -> const Tensor& {
    const auto computed = outputs.find(name);
    return computed != outputs.end() ? computed->second : inputs.at(name);
  };
  return {metrics.how, find(metrics.scores), find(metrics.labels)};
}

/// Labels that a model was not made for are no reason to stop where nobody asked for a metric.
bool is_left_out(const AskedMetric& asked, const Compared& batch) {
  if (!asked.by_default) return false;
  const auto &scores = batch.scores.dims(), &labels = batch.labels.dims();
  if (batch.how.task == Task::binary) return scores != labels;
  return scores.size() != labels.size() + 1 || scores.size() < 2;
}

void put_value(const std::string& name, std::optional<double> value, const std::string& why_not,
               Summary& summary) {
  if (!value) {
    summary.missing.emplace_back(name, why_not);
  } else if (name == kAccuracy) {
    summary.accuracy = value;
  } else {
    summary.metrics.emplace_back(name, *value);
  }
}

void put_mean(const Mean& mean, Summary& summary) {
  if (mean.why_not != WhyNot::none) {
    return put_value(mean.name, std::nullopt, std::string(to_string(mean.why_not)), summary);
  }
  if (mean.count == 0) return;
  put_value(mean.name, mean.sum.value() / static_cast<double>(mean.count), {}, summary);
}

}  // namespace

std::vector<AskedMetric> default_metrics(const Comparison& how) {
  AskedMetric accuracy = required_metric(kAccuracy);
  accuracy.by_default = true;
  if (!fits(*accuracy.def, how)) return {};
  return {accuracy};
}

void ask_for(const std::vector<std::string>& names, StepMetrics& metrics) {
  if (names.empty()) {
    metrics.asked = default_metrics(metrics.how);
    return;
  }
  metrics.asked.clear();
  for (const std::string& name : names) {
    AskedMetric asked = required_metric(name);
    const bool is_new =
        std::ranges::find(metrics.asked, name, &AskedMetric::name) == metrics.asked.end();
    if (is_new && fits(*asked.def, metrics.how)) metrics.asked.push_back(std::move(asked));
  }
}

MetricTotals::Loss& MetricTotals::loss(const std::string& name, size_t info) {
  const auto found = std::ranges::find_if(
      losses, [&](const Loss& each) { return each.name == name && each.info == info; });
  return found != losses.end() ? *found : losses.emplace_back(Loss{.name = name, .info = info});
}

Mean& MetricTotals::mean(const std::string& name) {
  const auto found = std::ranges::find(means, name, &Mean::name);
  return found != means.end() ? *found : means.emplace_back(Mean{.name = name});
}

void MetricTotals::add(const StepMetrics& metrics, const TensorMap& outputs,
                       const TensorMap& inputs, int64_t examples, size_t info) {
  for (const std::string& name : metrics.losses) {
    Loss& total = loss(name, info);
    total.sum += sum_of(outputs.at(name)) * static_cast<double>(examples);
    total.examples += examples;
  }
  for (const AskedMetric& asked : metrics.asked) {
    if (!asked.def->mean) continue;
    const Compared batch = compared(metrics, outputs, inputs);
    if (is_left_out(asked, batch)) continue;
    Mean added{.name = asked.name};
    asked.def->mean(batch, asked.k, added);
    const bool is_unasked = asked.by_default && added.why_not == WhyNot::soft_labels;
    if (!is_unasked) mean(asked.name).add(added);
  }
}

void MetricTotals::add(const MetricTotals& other) {
  for (const Loss& each : other.losses) {
    Loss& total = loss(each.name, each.info);
    total.sum += each.sum;
    total.examples += each.examples;
  }
  for (const Mean& each : other.means) mean(each.name).add(each);
}

Summary MetricTotals::summary() const {
  Summary summary;
  for (const Loss& each : losses) {
    const bool is_unique = std::ranges::count(losses, each.name, &Loss::name) == 1;
    summary.losses.emplace_back(
        is_unique ? each.name : fmt::format("{} of info {}", each.name, each.info),
        each.sum / static_cast<double>(each.examples));
  }
  for (const Mean& each : means) put_mean(each, summary);
  return summary;
}

void EvaluationTally::add(const StepMetrics& metrics, const TensorMap& outputs,
                          const TensorMap& inputs) {
  std::vector<decltype(MetricDef::gather)> done;
  for (const AskedMetric& asked : metrics.asked) {
    const auto gather = asked.def->gather;
    if (!gather || std::ranges::find(done, gather) != done.end()) continue;
    gather(compared(metrics, outputs, inputs), tally_);
    done.push_back(gather);
  }
}

void EvaluationTally::finish(const StepMetrics& metrics, const Summary& means,
                             Summary& summary) const {
  for (const AskedMetric& asked : metrics.asked) {
    const auto has_name = [&](const auto& each) { return each.first == asked.name; };
    if (asked.def->finish) {
      const Finding found = asked.def->finish(*asked.def, metrics.how, tally_);
      put_value(asked.name, found.value, found.why_not, summary);
    } else if (!asked.def->mean) {
      summary.confusion = tally_.confusion;
    } else if (asked.name == kAccuracy && means.accuracy) {
      summary.accuracy = means.accuracy;
    } else if (const auto mean = std::ranges::find_if(means.metrics, has_name);
               mean != means.metrics.end()) {
      summary.metrics.push_back(*mean);
    } else if (const auto why = std::ranges::find_if(means.missing, has_name);
               why != means.missing.end()) {
      summary.missing.push_back(*why);
    } else if (!asked.by_default) {
      summary.missing.emplace_back(asked.name, "no label counts");
    }
  }
}

double metric_of(const Summary& summary, const std::string& name) {
  if (name == kAccuracy && summary.accuracy) return *summary.accuracy;
  std::vector<std::string> names;
  if (summary.accuracy) names.emplace_back(kAccuracy);
  for (const auto& [metric, value] : summary.metrics) {
    if (name == metric) return value;
    names.push_back(metric);
  }
  for (const auto& [metric, why_not] : summary.missing) {
    if (name == metric) return std::nan("");
    names.push_back(metric);
  }
  if (summary.losses.size() == 1) names.emplace_back("loss");
  for (const auto& [loss, value] : summary.losses) {
    if (name == loss || (name == "loss" && summary.losses.size() == 1)) return value;
    if (loss != "loss") names.push_back(loss);
  }
  throw Error(unknown_name("metric", name, names));
}

bool is_better(const std::string& metric, double value, double than) {
  const auto asked = find_metric(metric);
  return asked && !asked->def->less_is_better ? value > than : value < than;
}

std::string to_string(const Summary& summary) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  for (const auto& [name, value] : summary.losses) add(fmt::format("{} {:.4g}", name, value));
  if (summary.accuracy) add(fmt::format("{} {:.2f} %", kAccuracy, 100 * *summary.accuracy));
  for (const auto& [name, value] : summary.metrics) add(fmt::format("{} {:.4g}", name, value));
  for (const auto& [name, why_not] : summary.missing) {
    add(fmt::format("{} missing ({})", name, why_not));
  }
  return text;
}

}  // namespace onward
