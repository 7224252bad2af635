#pragma once

#include <functional>
#include <memory>

#include "data/feeds.h"
#include "runtime/program.h"
#include "train/frozen_part.h"
#include "train/metrics.h"

namespace onward {

inline constexpr int64_t kEvaluationBatch = 32;

/// Scores of classes and their labels, of these rows of the data.
struct ScoredBatch {
  std::span<const int64_t> rows;
  Compared compared;
};
using OnScores = std::function<void(const ScoredBatch&)>;

struct EvaluateOptions {
  /// Without it kEvaluationBatch, or the only one that the model takes.
  std::optional<int64_t> batch_size = std::nullopt;
  ArrayNames names = {};
  /// Metrics by name; without any, accuracy where that fits.
  std::vector<std::string> metrics = {};
  /// One more metric, or a loss, by which epochs are compared; empty for none.
  std::string watched = {};
  /// May choose among the examples, before the first batch.
  std::function<void(Feeds&)> on_feeds = {};
  /// Is called with the number of examples that are done, and that of all.
  std::function<void(int64_t done, int64_t all)> on_batch = {};
  /// Is called with each batch that has scores of classes.
  OnScores on_scores = {};
};

/// Computes losses and metrics on a dataset with the model as it is in inference: Dropout and
/// BatchNormalization inside an algorithm's own forward do what they do there. State stays as it
/// is.
class Evaluator {
 public:
  /// By the losses of these training infos and the metrics. Without infos only by metrics: the
  /// model's output against the one array in the data that is no input and fits it, integer labels
  /// of classes first. Throws Error where a metric does not fit.
  Evaluator(const Model& model, std::span<const size_t> infos, const Dataset& data,
            const EvaluateOptions& options);

  /// The inputs that data must be given for.
  const std::vector<InputSlot>& inputs() const { return inputs_; }

  /// Splits off what the training of these infos leaves as it is, for these examples in batches of
  /// that size; gives it, or null with the reason.
  struct Split {
    const FrozenPart* part = nullptr;
    std::string reason;
  };
  Split split_off_frozen(const Feeds& feeds, int64_t batch, const FrozenOptions& options);

  Summary run(const Feeds& feeds, int64_t batch, State& state,
              const std::function<void(int64_t done)>& on_batch = {},
              const OnScores& on_scores = {});

 private:
  struct Part {
    size_t info;
    StepMetrics metrics;
    Model step;
    std::unique_ptr<Program> program;
  };

  void add(size_t info, StepMetrics metrics, Model step);
  void add_info(const Model& model, size_t info, const EvaluateOptions& options);
  void add_inference(const Model& model, const Dataset& data, const EvaluateOptions& options);
  void require_fit(const EvaluateOptions& options) const;

  std::vector<InputSlot> inputs_;
  std::vector<Part> parts_;
  std::set<std::string, std::less<>> trained_;  // state that changes between evaluations
  std::unique_ptr<FrozenPart> frozen_;          // of the only part
};

/// All of it at once, in batches of so many examples, or of the only size that the model takes.
/// Throws Error where the data does not fit the model, or does not fill batches of that size.
Summary evaluate(const Model& model, std::span<const size_t> infos, Dataset data, State& state,
                 const EvaluateOptions& options = {});

}  // namespace onward
