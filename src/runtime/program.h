#pragma once

#include "runtime/plan_cache.h"

namespace onward {

/// Where a step is cut, by names of its values.
struct StepCut {
  std::vector<std::string> gradients;  // what the update part takes from the micro part
  std::vector<std::string> losses;     // must be finite
};

/// A graph made ready to be run many times: an inference graph, an initialization, or a training
/// step whose gradients are written out (grad/differentiate.h). Plans are made when a batch of new
/// shapes arrives, and kept. A step is cut at the gradients into a micro part and an update part,
/// so that micro-batches can accumulate.
///
/// Whatever throws leaves the state as it was, but for micro-batches: a state that each of them
/// changes (running statistics) is for the caller to put back (StateUndo, batch_targets).
class Program {
 public:
  /// `step.training[0].update_bindings`, where there is one, says what a run writes to the state.
  explicit Program(Model step, const StepCut& cut = {});

  /// Runs all of it, then applies the bindings, all at once. Gives the graph's outputs, but for
  /// those that are bound: they are in the state then.
  TensorMap run(const TensorMap& inputs, State& state, const eval::RandomKey& random = {});

  /// The same in two steps: computes, and changes nothing; throws Error where a loss is not finite.
  TensorMap compute(const TensorMap& inputs, const State& state,
                    const eval::RandomKey& random = {});
  /// Applies the bindings of what was computed last. Throws Error only where gradients out of the
  /// ordinary would turn a finite element of the state into one that is not.
  void commit(State& state);

  /// Forgets the gradients that were added up.
  void begin_micro_batches();
  /// Runs the micro part, adds its gradients to those of the runs before it, and applies the
  /// bindings that belong to each batch. Gives the outputs that are known then.
  TensorMap run_micro(const TensorMap& inputs, State& state, const eval::RandomKey& random = {});
  /// Computes the update part with the mean of the gradients that were added up, for commit().
  /// Gives the outputs that were not known before.
  TensorMap compute_update(const State& state, const eval::RandomKey& random = {});

  /// The names of all state that is written, and of what micro-batches write before the commit.
  const std::vector<std::string>& targets() const { return targets_; }
  const std::vector<std::string>& batch_targets() const { return batch_targets_; }

  /// What the plan of the last run does, one line an action: its part of the time, the kernel, the
  /// node, and why it is not a faster kernel.
  std::string explain() const;

  const PlanCache& plans() const { return plans_; }

 private:
  void check(const TensorMap& inputs) const;
  BoundPlan& bound_for(const TensorMap& inputs, const State& state);
  std::unique_ptr<Plan> plan_for(const TensorMap& inputs, const State& state) const;
  void bind(BoundPlan& bound, const TensorMap* inputs, const State& state);
  TensorMap interpret(const TensorMap& inputs, const State& state, const eval::RandomKey& random);

  Model step_;
  PlanRequest request_;
  std::vector<std::string> targets_, batch_targets_;
  PlanCache plans_;
  BoundPlan* last_ = nullptr;
  Buffer arena_;
  std::vector<std::vector<double>> sums_;  // of the gradients of micro-batches
  int64_t micro_batches_ = 0;
  bool tame_ = true;     // no gradient is out of the ordinary
  TensorMap new_state_;  // computed node by node, and not yet applied
};

}  // namespace onward
