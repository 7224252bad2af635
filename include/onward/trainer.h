#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onward/dataset.h"
#include "onward/model.h"

namespace onward::api {

/// How convolutions are computed; the two differ in the last digits.
enum class Conv : uint8_t {
  fastest,  // by Winograd's algorithm where that is faster
  direct,   // as sums of products alone
};

struct TrainerOptions {
  uint64_t seed = 0;    // of random numbers
  int64_t threads = 0;  // of this Trainer; 0: as many as the machine has
  Conv conv = Conv::fastest;
};

/// What an evaluation gives: means over the examples, and other metrics.
struct Metrics {
  std::vector<std::pair<std::string, double>> losses;
  std::optional<double> accuracy;  // where there are class scores and labels, from 0 to 1
  /// Those that were asked for, in that order, without accuracy.
  std::vector<std::pair<std::string, double>> metrics;
  /// Those that have no value, and why: "no examples have label 1".
  std::vector<std::pair<std::string, std::string>> missing;
  /// Where "confusion" was asked for: how often each class (row) was taken for each (column).
  std::vector<std::vector<int64_t>> confusion;
};

/// Trains a model: inference, initialization and step on one state. The model that it is made from
/// is not changed. What throws leaves state and step count bit for bit as they were. Several
/// threads may share a Trainer, which runs one call at a time.
class ONWARD_API Trainer {
 public:
  explicit Trainer(const Model& model, const TrainerOptions& options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// One training step on a batch: every training info in file order, or only one of them. Gives
  /// the outputs of the infos and of the inference graph by name. Arrays are converted to the types
  /// of the inputs where that is exact or rounds floats.
  Tensors step(const Batch& batch, std::optional<size_t> info = std::nullopt);
  /// One step on several micro-batches: the update takes the mean of their gradients. Gives the
  /// outputs of the last.
  Tensors step_accumulated(std::span<const Batch> batches,
                           std::optional<size_t> info = std::nullopt);

  /// The outputs of the inference graph. Never changes the state.
  Tensors infer(const Batch& batch);

  /// Runs each training info's initialization. Never done by itself: a trained state would be lost.
  void initialize();

  /// Losses and accuracy, with Dropout and BatchNormalization as in inference. Never changes the
  /// state. Without a batch size it is 32, or the only one that the model takes. `metrics` names
  /// others instead of accuracy, such as {"f1", "auc"}, as `onward eval --metrics` does.
  Metrics evaluate(const Dataset& data, std::optional<int64_t> batch_size = std::nullopt,
                   const std::vector<std::string>& metrics = {});

  /// All that training changes: parameters, the optimizer's state, step counts, statistics.
  Tensors state() const;
  Tensor state(std::string_view name) const;
  /// Gives some state tensors other values, of the same type and shape: all of them, or none where
  /// one does not fit.
  void set_state(const Tensors& tensors);

  /// The steps done so far: part of the key of random numbers.
  uint64_t steps() const;
  void set_steps(uint64_t steps);

  int threads() const;

  /// The model with the state that it has now.
  Model model() const;
  /// The same without its training part.
  Model inference_model() const;
  /// Writes the model with its state; load and Trainer resume from it.
  void save(const std::filesystem::path& file, const SaveOptions& options = {}) const;

  /// What the steps do, kernel by kernel with its part of the time, once one was run.
  std::string explain() const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace onward::api
