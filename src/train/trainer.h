#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eval/runtime_value.h"
#include "passes/frozen_prefix.h"
#include "runtime/conv_method.h"
#include "runtime/state.h"
#include "runtime/time_spent.h"
#include "train/metrics.h"

namespace onward {

class Program;

struct TrainerOptions {
  uint64_t seed = 0;
  int64_t threads = 0;  // 0: as many as the machine has
  ConvMethod conv = ConvMethod::fastest;
  /// Let steps give only what is reported, losses and scores, and compute nothing else.
  bool only_metrics = false;
  /// Metrics to report of steps, of which those count that fit and are means over examples; without
  /// any, accuracy.
  std::vector<std::string> metrics = {};
};

/// Trains a model: the standard's three methods (inference, initialization, step) on one state.
/// What throws, whatever it is, leaves state and step count bit for bit as they were.
class Trainer {
 public:
  explicit Trainer(Model model, TrainerOptions options = {});
  ~Trainer();
  Trainer(Trainer&&) noexcept;

  /// One training step on a batch: info by info in file order, or only one of them. Gives each
  /// info's outputs.
  TensorMap step(const TensorMap& inputs, std::optional<size_t> info = std::nullopt);

  /// One step on several micro-batches: the update takes the mean of their gradients. Gives the
  /// outputs of the last.
  TensorMap step_accumulated(std::span<const TensorMap> micro_batches,
                             std::optional<size_t> info = std::nullopt);

  /// Gets the outputs of one training info for one micro-batch.
  using OnOutputs = std::function<void(size_t info, size_t micro_batch, const TensorMap& outputs)>;
  /// One training step of these infos, in order. With several micro-batches, each info's update is
  /// made once, with the mean of their gradients. `on_outputs` is called before the state changes
  /// for good, so that it may throw too.
  void step(std::span<const TensorMap> micro_batches, std::span<const size_t> infos,
            const OnOutputs& on_outputs);

  /// The inference graph's outputs. Never changes state.
  TensorMap infer(const TensorMap& inputs);
  /// The same, where they may be sequences, maps and optional values too.
  using Values = std::map<std::string, eval::RuntimeValue>;
  Values infer_values(const TensorMap& inputs, const Values& containers = {});

  /// Runs each info's initialization in order. Never done by itself: a checkpoint would be lost.
  void initialize();

  /// Throws Error where the model has no training info of that number.
  void require_info(size_t info) const;
  /// What is reported of an info's steps.
  const StepMetrics& metrics(size_t info);

  /// Lets the steps of an info begin behind their frozen part, whose results are inputs from then
  /// on; gives the part, or why all stays as it is. `batches` are those that there will be.
  FrozenSplit split_off_frozen(size_t info, std::span<const BatchTypes> batches);
  /// The inputs that the steps of an info read.
  std::vector<std::string> inputs(size_t info);

  const State& state() const { return state_; }
  State& state() { return state_; }

  /// How many threads it computes with, whatever others do.
  int threads() const { return threads_; }
  /// How it convolves.
  ConvMethod conv() const { return options_.conv; }

  /// The steps done so far: part of the key of random numbers.
  uint64_t steps() const { return steps_; }
  void set_steps(uint64_t steps) { steps_ = steps; }

  /// What the steps of the infos do, kernel by kernel, once one was run.
  std::string explain() const;
  /// The time that steps took, by operators and kernels; the longest comes first.
  std::vector<KernelTime> kernel_times() const;

  /// The model with the state that it has now.
  const Model& model();
  /// The first state tensor with an element that is not finite now, but was when model() was called
  /// last.
  std::optional<std::string> find_spoiled() const;
  /// Goes back to the state of then.
  void restore_model_state();
  /// Sets an entry of the model's metadata, or removes it where `value` is empty.
  void set_metadata(const std::string& key, const std::string& value);
  /// A copy without the training part.
  Model inference_model();

 private:
  struct Step;
  struct Parts;
  Parts parts_of(size_t info) const;
  Step& step_of(size_t info);
  void compute_step(std::span<const TensorMap> micro_batches, std::span<const size_t> infos,
                    const OnOutputs& on_outputs);
  Program& inference();

  Model model_;
  TrainerOptions options_;
  int threads_;
  State state_;
  uint64_t steps_ = 0;
  std::vector<std::unique_ptr<Step>> step_programs_;
  std::unique_ptr<Program> inference_;
  bool was_explained_ = false;  // why a step was not finite
};

}  // namespace onward
