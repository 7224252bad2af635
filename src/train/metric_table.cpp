#include "train/metric_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ir/suggestion.h"
#include "onward/error.h"

namespace onward {
namespace {

constexpr std::string_view kTopK = "top-K";
constexpr Fits kFitsLabels = kFitsClasses | kFitsBinary;

Fits fits_of(const Comparison& how) {
  switch (how.task) {
    case Task::classes:
      return how.has_places ? kFitsClasses | kFitsPlaces : kFitsClasses;
    case Task::binary:
      return kFitsBinary;
    case Task::regression:
      return kFitsRegression;
    case Task::none:
      break;
  }
  return 0;
}

std::string_view what_it_predicts(const Comparison& how) {
  switch (how.task) {
    case Task::classes:
      return how.has_places ? "a model that scores classes at each place"
                            : "a model that scores classes of examples";
    case Task::binary:
      return "a model with one score for labels of 0 and 1";
    case Task::regression:
      return "a model that predicts numbers";
    case Task::none:
      break;
  }
  return {};
}

/// The K of "top-5".
std::optional<int64_t> number_of_top(std::string_view name) {
  constexpr std::string_view kStart = kTopK.substr(0, kTopK.size() - 1);
  if (!name.starts_with(kStart)) return std::nullopt;
  name.remove_prefix(kStart.size());
  int64_t k = 0;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), k);
  const bool is_number = result.ec == std::errc() && result.ptr == name.data() + name.size();
  return is_number && k > 0 ? std::optional(k) : std::nullopt;
}

}  // namespace

std::span<const MetricDef> metric_table() {
  static const MetricDef table[] = {
      {.name = kAccuracy, .fits = kFitsLabels, .mean = add_accuracy},
      {.name = kTopK, .fits = kFitsClasses, .mean = add_top_k},
      {.name = "precision",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_precision},
      {.name = "precision-macro",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_precision,
       .average = Average::macro},
      {.name = "precision-micro",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_precision,
       .average = Average::micro},
      {.name = "precision-weighted",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_precision,
       .average = Average::weighted},
      {.name = "recall", .fits = kFitsLabels, .gather = gather_confusion, .finish = finish_recall},
      {.name = "recall-macro",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_recall,
       .average = Average::macro},
      {.name = "recall-micro",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_recall,
       .average = Average::micro},
      {.name = "recall-weighted",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_recall,
       .average = Average::weighted},
      {.name = "f1", .fits = kFitsLabels, .gather = gather_confusion, .finish = finish_f1},
      {.name = "f1-macro",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_f1,
       .average = Average::macro},
      {.name = "f1-micro",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_f1,
       .average = Average::micro},
      {.name = "f1-weighted",
       .fits = kFitsLabels,
       .gather = gather_confusion,
       .finish = finish_f1,
       .average = Average::weighted},
      {.name = "auc", .fits = kFitsLabels, .gather = gather_scores, .finish = finish_auc},
      {.name = "confusion", .fits = kFitsLabels, .gather = gather_confusion},
      {.name = "mean-iou",
       .fits = kFitsPlaces,
       .gather = gather_confusion,
       .finish = finish_mean_iou,
       .average = Average::macro},
      {.name = "mse", .fits = kFitsRegression, .less_is_better = true, .mean = add_squared_error},
      {.name = "mae", .fits = kFitsRegression, .less_is_better = true, .mean = add_absolute_error},
      {.name = "r2", .fits = kFitsRegression, .gather = gather_spread, .finish = finish_r2},
  };
  return table;
}

std::string_view to_string(WhyNot why_not) {
  switch (why_not) {
    case WhyNot::not_finite:
      return "not all predictions are finite numbers";
    case WhyNot::soft_labels:
      return "not all labels are 0 or 1";
    case WhyNot::none:
      break;
  }
  return {};
}

// Neumaier's sum.
void Sum::add(double number) {
  const double next = sum + number;
  if (std::isfinite(next)) {
    rest += std::fabs(sum) >= std::fabs(number) ? (sum - next) + number : (number - next) + sum;
  }
  sum = next;
}

void Mean::add(const Mean& other) {
  sum.add(other.sum.sum);
  sum.add(other.sum.rest);
  count += other.count;
  if (why_not == WhyNot::none) why_not = other.why_not;
}

std::optional<AskedMetric> find_metric(std::string_view name) {
  const auto k = number_of_top(name);
  const auto table = metric_table();
  const auto found = std::ranges::find(table, k ? kTopK : name, &MetricDef::name);
  if (found == table.end() || name == kTopK) return std::nullopt;
  return AskedMetric{.name = std::string(name), .def = &*found, .k = k.value_or(0)};
}

AskedMetric required_metric(std::string_view name) {
  if (auto found = find_metric(name)) return *found;
  throw Error(unknown_name("metric", name, metric_names()));
}

std::vector<std::string> metric_list(std::string_view text) {
  std::vector<std::string> names;
  while (true) {
    const size_t comma = text.find(',');
    const std::string name(text.substr(0, comma));
    required_metric(name);
    if (std::ranges::find(names, name) != names.end()) {
      throw Error(fmt::format("metric '{}' is named twice", name));
    }
    names.push_back(name);
    if (comma == std::string_view::npos) return names;
    text.remove_prefix(comma + 1);
  }
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const MetricDef& def : metric_table()) {
    names.emplace_back(def.name == kTopK ? "top-5" : def.name);
  }
  return names;
}

bool fits(const MetricDef& def, const Comparison& how) { return (def.fits & fits_of(how)) != 0; }

std::string misfit(const AskedMetric& asked, const Comparison& how) {
  if (how.task == Task::none) {
    return fmt::format(
        "metric '{}' has nothing to compare: the loss is neither one of classes, nor one of labels "
        "of 0 and 1, nor one of numbers",
        asked.name);
  }
  std::vector<std::string_view> fitting;
  for (const MetricDef& def : metric_table()) {
    if (fits(def, how)) fitting.push_back(def.name);
  }
  return fmt::format("metric '{}' does not fit {}; these do: {}", asked.name, what_it_predicts(how),
                     fmt::join(fitting, ", "));
}

}  // namespace onward
