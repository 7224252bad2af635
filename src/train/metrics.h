#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/state.h"
#include "train/confusion.h"
#include "train/metric_table.h"

namespace onward {

/// What of a step is reported, by names of its values.
struct StepMetrics {
  std::vector<std::string> losses;  // what Gradient nodes differentiate
  std::string scores, labels;       // what is compared: both empty where there is nothing
  Comparison how = {};
  std::vector<AskedMetric> asked = {};  // all of them fit

  bool compares() const { return how.task != Task::none; }
};

/// Finds losses, and predictions with their labels: what a cross entropy compares or what the
/// loss of the recipe does, or else the model's only output of scores and the step's only input of
/// labels, or the only output and an input of its type. `step` is joined of the model's training
/// info, its Gradient nodes still there. Asks for accuracy where that fits.
StepMetrics find_metrics(const Model& step, const Model& model, size_t info);

/// The accuracy, where it fits.
std::vector<AskedMetric> default_metrics(const Comparison& how);
/// Asks for these metrics instead, as far as they fit; without any, for the default.
void ask_for(const std::vector<std::string>& names, StepMetrics& metrics);

/// An output of class scores for labels of that type: one dimension more, classes in dimension 1.
Value* find_scores(const Graph& inference, const Type& labels);

/// Means over the examples so far, and what an evaluation gives beside them.
struct Summary {
  std::vector<std::pair<std::string, double>> losses;
  std::optional<double> accuracy;
  /// Those that were asked for, by name, in that order ("top-5", "f1", "mae"); without accuracy.
  std::vector<std::pair<std::string, double>> metrics;
  /// Those that have no value, and why.
  std::vector<std::pair<std::string, std::string>> missing;
  std::optional<Confusion> confusion;  // of an evaluation of classes, where it was asked for
};

/// Adds up what is reported, batch by batch: losses, and the metrics that are means.
class MetricTotals {
 public:
  struct Loss {
    std::string name;
    size_t info = 0;  // two training infos may have losses of one name
    double sum = 0;   // each batch's, times its examples
    int64_t examples = 0;
  };

  void add(const StepMetrics& metrics, const TensorMap& outputs, const TensorMap& inputs,
           int64_t examples, size_t info);
  void add(const MetricTotals& other);

  Summary summary() const;

  // Public so that a checkpoint can keep them.
  std::vector<Loss> losses;
  std::vector<Mean> means;

 private:
  Loss& loss(const std::string& name, size_t info);
  Mean& mean(const std::string& name);
};

/// Keeps what metrics need of a whole evaluation.
class EvaluationTally {
 public:
  void add(const StepMetrics& metrics, const TensorMap& outputs, const TensorMap& inputs);
  /// Adds what was asked for to a summary, in the order in which it was; `means` has the means.
  void finish(const StepMetrics& metrics, const Summary& means, Summary& summary) const;

 private:
  Tally tally_;
};

/// The number that a metric's name stands for: a metric that was asked for, `loss` where there is
/// one, or a loss by its name; NaN where it is missing. Throws Error that lists what there is.
double metric_of(const Summary& summary, const std::string& name);
/// Whether it is better: more of most metrics, less of an error or a loss.
bool is_better(const std::string& metric, double value, double than);

/// "loss 0.1234, accuracy 98.7 %, f1 0.9712, auc missing (no examples have label 1)".
std::string to_string(const Summary& summary);
}  // namespace onward
