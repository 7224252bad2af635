#pragma once

#include <map>
#include <memory>

#include "runtime/plan.h"
#include "runtime/state.h"

namespace onward {

/// A graph made ready to be run many times: an inference graph, an initialization, or a training
/// step whose gradients are written out (grad/differentiate.h). Plans are made when a batch of new
/// shapes arrives, and kept. A step is cut at the gradients into a micro part and an update part,
/// so that micro-batches can accumulate.
class Program {
 public:
  /// `step.training[0].update_bindings`, where there is one, says what a run writes to the state;
  /// `gradients` are the names of the values at which to cut.
  explicit Program(Model step, const std::vector<std::string>& gradients = {});

  /// Runs all of it, then applies the bindings, all at once. Gives the graph's outputs, but for
  /// those that are bound: they are in the state then. Throws Error before anything is changed
  /// where a loss is not finite.
  TensorMap run(const TensorMap& inputs, State& state, const eval::RandomKey& random = {});

  /// Runs the micro part, and adds its gradients to those of the runs before it.
  TensorMap run_micro(const TensorMap& inputs, State& state, const eval::RandomKey& random = {});
  /// Runs the update part with the mean of the gradients that were added up.
  void run_update(State& state, const eval::RandomKey& random = {});

  /// What the plan of the last run does, one line an action: its part of the time, the kernel, the
  /// node, and why it is not a faster kernel.
  std::string explain() const;

 private:
  /// A plan with the places of its tensors, once memory and state are known.
  struct Ready {
    std::unique_ptr<Plan> plan;  // null where shapes depend on data
    std::vector<std::byte*> pointers;
    const State* state = nullptr;
    const std::byte* arena = nullptr;
    int64_t runs = 0;
  };

  void check(const TensorMap& inputs) const;
  Ready& ready_for(const TensorMap& inputs, const State& state);
  std::unique_ptr<Plan> plan_for(const TensorMap& inputs, const State& state) const;
  void point(Ready& ready, const TensorMap* inputs, const State& state);
  TensorMap outputs_of(const Ready& ready) const;
  TensorMap interpret(const TensorMap& inputs, State& state, const eval::RandomKey& random) const;

  Model step_;
  PlanRequest request_;
  std::map<std::string, Ready> plans_;  // by the types of the inputs
  Ready* last_ = nullptr;
  Buffer arena_;
  std::vector<std::vector<double>> sums_;  // of the gradients of micro-batches
  int64_t micro_batches_ = 0;
};

}  // namespace onward
