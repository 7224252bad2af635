#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/program.h"

namespace onward {

struct TrainerOptions {
  uint64_t seed = 0;
  int threads = 0;  // 0: as many as the machine has
};

/// Trains a model: the standard's three methods (inference, initialization, step) on one state.
class Trainer {
 public:
  explicit Trainer(Model model, TrainerOptions options = {});

  /// One training step on a batch: info by info in file order, or only one of them. Gives each
  /// info's outputs.
  TensorMap step(const TensorMap& inputs, std::optional<size_t> info = std::nullopt);

  /// One step on several micro-batches: the update takes the mean of their gradients. Gives the
  /// outputs of the last.
  TensorMap step_accumulated(std::span<const TensorMap> micro_batches,
                             std::optional<size_t> info = std::nullopt);

  /// The inference graph's outputs. Never changes state.
  TensorMap infer(const TensorMap& inputs);

  /// Runs each info's initialization in order. Never done by itself: a checkpoint would be lost.
  void initialize();

  const State& state() const { return state_; }
  State& state() { return state_; }

  /// The steps done so far: part of the key of random numbers.
  uint64_t steps() const { return steps_; }
  void set_steps(uint64_t steps) { steps_ = steps; }

  /// What the steps of the infos do, kernel by kernel, once one was run.
  std::string explain() const;

  /// The model with the state that it has now.
  const Model& model();

 private:
  Program& step_program(size_t info);

  Model model_;
  TrainerOptions options_;
  State state_;
  uint64_t steps_ = 0;
  std::vector<std::optional<Program>> step_programs_;
  std::optional<Program> inference_;
};

}  // namespace onward
