#pragma once

#include "eval/interpreter.h"
#include "runtime/plan_cache.h"
#include "runtime/planned_subgraphs.h"
#include "runtime/time_spent.h"

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
  ~Program();
  Program(Program&&) noexcept;

  /// Runs all of it, then applies the bindings, all at once. Gives the graph's outputs, but for
  /// those that are bound: they are in the state then.
  TensorMap run(const TensorMap& inputs, State& state, const eval::RandomKey& random = {});

  /// What a graph without bindings gives, values that are no tensors too; `containers` are those of
  /// its inputs. A graph that has some among its inputs or outputs runs node by node.
  using Values = std::map<std::string, eval::RuntimeValue>;
  Values run_values(const TensorMap& inputs, const Values& containers, State& state,
                    const eval::RandomKey& random = {});

  /// What `run` does in two steps: computes, and changes nothing; throws Error where a loss is not
  /// finite.
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
  /// Computes the update part with the mean of the gradients that were added up, for commit():
  /// weighted by the number of examples where the micro-batches differ in it.
  /// Gives the outputs that were not known before.
  TensorMap compute_update(const State& state, const eval::RandomKey& random = {});

  /// The names of all state that is written, and of what micro-batches write before the commit.
  const std::vector<std::string>& targets() const { return targets_; }
  const std::vector<std::string>& batch_targets() const { return batch_targets_; }

  /// What the plan of the last run does, one line an action: its part of the time, the kernel, the
  /// node, and why it is not a faster kernel.
  std::string explain() const;
  /// The time that all runs took so far, and what of it passed in reference kernels.
  const TimeSpent& times() const { return *times_; }
  /// The same by operators and kernels, of the plans that are kept; the longest comes first.
  std::vector<KernelTime> kernel_times() const;

  const PlanCache& plans() const { return plans_; }

 private:
  /// Gradients of micro-batches that were added up, whatever plans they came from.
  struct Accumulation {
    std::vector<std::vector<double>> sums;
    double total = 0;                // of the weights
    int64_t examples = 0;            // of the first micro-batch
    std::vector<FoundRange> ranges;  // around each gradient of all micro-batches

    /// The weight of a micro-batch of so many examples, next to the first one's.
    double weigh(int64_t of_this) {
      if (total == 0) examples = of_this;
      const bool known = examples > 0 && of_this > 0;
      const double weight =
          known ? static_cast<double>(of_this) / static_cast<double>(examples) : 1;
      total += weight;
      return weight;
    }

    /// A mean lies between what it is the mean of.
    void widen(std::vector<FoundRange> more) {
      for (size_t g = 0; g < more.size() && !ranges.empty(); ++g) {
        const bool both = more[g] && ranges[g];
        more[g] = both ? FoundRange(hull(*more[g], *ranges[g])) : std::nullopt;
      }
      ranges = std::move(more);
    }
  };

  /// What follows in another program's step, once the shapes are there.
  Program(Model rest, PlanRequest request, const Program& whole);

  void check(const TensorMap& inputs, const Values& containers = {}) const;
  Model specialized(const TensorMap& inputs) const;
  BoundPlan& bound_for(const TensorMap& inputs, const State& state);
  std::unique_ptr<Plan> plan_for(const TensorMap& inputs, const State& state) const;
  std::unique_ptr<Plan> plan_regions(const Model& step, const State& state) const;
  /// Goes on where the plan ends; gives the program that has the rest of the step.
  Program& run_on(BoundPlan& bound, const TensorMap& inputs, const State& state,
                  const eval::RandomKey& random);
  TensorMap run_micro(const TensorMap& inputs, State& state, const eval::RandomKey& random,
                      int64_t examples);
  void bind(BoundPlan& bound, const TensorMap* inputs, const State& state);
  enum class Ranges : uint8_t { known, measured };
  std::optional<std::vector<Range>> operands_of_commit(Ranges which);
  std::optional<std::vector<Range>> bounds_of_commit(const State& state);
  void commit_bounded(const State& state, const std::vector<Range>& results);
  eval::Environment evaluated(const TensorMap& inputs, const Values& containers, const State& state,
                              const eval::RandomKey& random);
  void node_by_node(const PlannedSubgraphs& subgraphs, const std::function<void()>& work);
  TensorMap interpret(const TensorMap& inputs, const State& state, const eval::RandomKey& random);

  Model step_;
  PlanRequest request_;
  std::vector<std::string> targets_, batch_targets_;
  PlanCache plans_;
  BoundPlan* last_ = nullptr;
  Buffer arena_;
  std::shared_ptr<Accumulation> accumulation_ = std::make_shared<Accumulation>();
  std::shared_ptr<TimeSpent> times_ = std::make_shared<TimeSpent>();
  bool is_rest_ = false;
  PlannedSubgraphs subgraphs_;
  TensorMap new_state_;  // computed node by node, and not yet applied
};

}  // namespace onward
