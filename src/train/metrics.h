#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/state.h"

namespace onward {

/// What of a step is reported, by names of its values.
struct StepMetrics {
  std::vector<std::string> losses;  // what Gradient nodes differentiate
  std::string scores, labels;       // for the accuracy: both empty where there is none
  std::optional<int64_t> ignored;   // a label that does not count

  bool has_accuracy() const { return !scores.empty(); }
};

/// Finds losses, and the scores of classes with their integer labels: what a cross entropy compares
/// or else the model's only output of scores and the step's only input of labels. `step` is joined,
/// its Gradient nodes still there.
StepMetrics find_metrics(const Model& step, const Graph& inference);

/// An output of class scores for labels of that type: one dimension more, classes in dimension 1.
Value* find_scores(const Graph& inference, const Type& labels);

/// How often each class was taken for each.
struct Confusion {
  int64_t classes = 0;
  std::vector<int64_t> counts;  // [true class][predicted class]

  int64_t at(int64_t truth, int64_t predicted) const {
    return counts[static_cast<size_t>(truth * classes + predicted)];
  }
};

/// Means over the examples so far.
struct Summary {
  std::vector<std::pair<std::string, double>> losses;
  std::optional<double> accuracy;
  /// Those that were asked for, by name, in that order ("top-5", "f1", "mae").
  std::vector<std::pair<std::string, double>> metrics;
  std::optional<Confusion> confusion;  // of an evaluation of classes
};

/// Adds up what is reported, batch by batch.
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
  int64_t right = 0, judged = 0;

 private:
  Loss& loss(const std::string& name, size_t info);
};

/// The number that a metric's name stands for: `accuracy`, `loss` where there is one, or a loss by
/// its name. Throws Error that lists what there is.
double metric_of(const Summary& summary, const std::string& name);
/// Whether less of it is better.
bool is_better(const std::string& metric, double value, double than);

/// "loss 0.1234, accuracy 98.7 %".
std::string to_string(const Summary& summary);

}  // namespace onward
