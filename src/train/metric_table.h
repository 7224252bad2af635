#pragma once

// The table of metrics: a row for each that a user can name. What fits which model, what is shown
// while training, which way is better and what is kept of an evaluation follow from it, so that a
// new one is one row. Definitions are scikit-learn's; docs/training.md has them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "train/confusion.h"

namespace onward {

/// What a model predicts, and with what that is compared.
enum class Task : uint8_t {
  none,
  classes,     // scores with the classes in dimension 1; labels are integers, without it
  binary,      // one score for each label, which is 0 or 1
  regression,  // numbers, with numbers of the same shape
};

/// How predictions are to be compared with labels.
struct Comparison {
  Task task = Task::none;
  std::optional<int64_t> ignored = {};  // classes: a label that does not count
  double threshold = 0;                 // binary: a score above it means 1
  bool are_logits = false;              // classes: known to be no probabilities
  bool has_places = false;              // classes: examples have more than one label
};

/// A batch's predictions, and what they are compared with.
struct Compared {
  const Comparison& how;
  const Tensor& scores;
  const Tensor& labels;
};

/// Why a metric has no value.
enum class WhyNot : uint8_t {
  none,
  not_finite,   // NaN among scores; also infinity among numbers
  soft_labels,  // binary labels other than 0 and 1
};
std::string_view to_string(WhyNot why_not);

/// A sum without the rounding of a plain one.
struct Sum {
  double sum = 0, rest = 0;

  void add(double number);
  double value() const { return sum + rest; }
};

/// The mean of what each example adds.
struct Mean {
  std::string name;
  Sum sum = {};
  int64_t count = 0;
  WhyNot why_not = WhyNot::none;

  void add(const Mean& other);
};

/// What is kept of a whole evaluation, as far as a metric asks for it.
struct Tally {
  /// Labels beside predictions; of a binary task, classes 0 and 1.
  Confusion confusion = {};

  /// Of each example its label, and its scores: one where there are two classes, which is larger
  /// where the second is more likely.
  struct Scores {
    std::vector<int32_t> labels;
    std::vector<double> numbers;
    int64_t columns = 0;
  } scores = {};

  /// Of each number of an example: how labels spread, and how far off predictions are.
  struct Output {
    double first = 0, mean = 0;  // of labels, whose mean is both together
    double squares = 0;          // sum of (label - mean)^2
    Sum error = {};              // sum of (label - prediction)^2
  };
  std::vector<Output> outputs = {};
  int64_t examples = 0;

  WhyNot why_not = WhyNot::none;
};

/// A value, or why there is none.
struct Finding {
  std::optional<double> value = {};
  std::string why_not = {};
};

/// How the values of classes become one: that of the second class where there are two and else
/// their plain mean, their plain mean, all examples together, or weighted by their examples.
enum class Average : uint8_t { usual, macro, micro, weighted };

// The models that a metric fits.
using Fits = unsigned;
inline constexpr Fits kFitsClasses = 1, kFitsBinary = 2, kFitsRegression = 4, kFitsPlaces = 8;

struct MetricDef {
  std::string_view name;  // in "top-K", K stands for a number
  Fits fits = 0;
  bool less_is_better = false;
  /// A mean over examples, of which epochs of training have one too: adds a batch.
  void (*mean)(const Compared&, int64_t k, Mean&) = nullptr;
  /// Or what needs a whole evaluation: adds a batch, shared by all metrics that name the same
  /// function; then gives the value. A row without `finish` is the confusion matrix.
  void (*gather)(const Compared&, Tally&) = nullptr;
  Finding (*finish)(const MetricDef&, const Comparison&, const Tally&) = nullptr;
  Average average = Average::usual;
};

/// The one that a Summary has a place of its own for.
inline constexpr const char* kAccuracy = "accuracy";

std::span<const MetricDef> metric_table();

/// A metric that was asked for.
struct AskedMetric {
  std::string name;  // "top-5"
  const MetricDef* def = nullptr;
  int64_t k = 0;
  bool by_default = false;
};

/// Null where the name is no metric's.
std::optional<AskedMetric> find_metric(std::string_view name);
/// Throws an Error that lists what there is.
AskedMetric required_metric(std::string_view name);
/// Those of a list such as "accuracy,f1". Throws Error where one is unknown, or named twice.
std::vector<std::string> metric_list(std::string_view text);
/// All names, as a list shows them.
std::vector<std::string> metric_names();

/// Whether a metric can be computed for such a model.
bool fits(const MetricDef& def, const Comparison& how);
/// "f1 does not fit a model that predicts numbers: mse, mae and r2 do".
std::string misfit(const AskedMetric& asked, const Comparison& how);

// What rows are made of (metric_classes.cpp, metric_ranking.cpp, metric_errors.cpp).
void add_accuracy(const Compared& batch, int64_t k, Mean& mean);
void add_top_k(const Compared& batch, int64_t k, Mean& mean);
void gather_confusion(const Compared& batch, Tally& tally);
Finding finish_precision(const MetricDef& def, const Comparison&, const Tally& tally);
Finding finish_recall(const MetricDef& def, const Comparison&, const Tally& tally);
Finding finish_f1(const MetricDef& def, const Comparison&, const Tally& tally);
Finding finish_mean_iou(const MetricDef& def, const Comparison&, const Tally& tally);
void gather_scores(const Compared& batch, Tally& tally);
Finding finish_auc(const MetricDef&, const Comparison& how, const Tally& tally);
void add_squared_error(const Compared& batch, int64_t k, Mean& mean);
void add_absolute_error(const Compared& batch, int64_t k, Mean& mean);
void gather_spread(const Compared& batch, Tally& tally);
Finding finish_r2(const MetricDef&, const Comparison&, const Tally& tally);

}  // namespace onward
