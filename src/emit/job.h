#pragma once

// A training job, as far as another framework must know it: what is trained, how, and where it
// stands.

#include <optional>
#include <string>
#include <vector>

#include "emit/module.h"
#include "ir/model.h"
#include "recipe/loss_def.h"
#include "recipe/recipe.h"

namespace onward::emit {

/// A state tensor with its name in the model.
struct StateTensor {
  std::string name;  // of the initializer
  Tensor value;
};

struct JobSlot {
  std::string slot;  // "exp_avg"
  StateTensor state;
};

struct TrainedParameter {
  const Value* parameter;  // in the lifted inference graph
  std::string gradient;    // the name of its gradient in the step
  std::vector<JobSlot> slots;
};

struct Job {
  OptimizerSettings optimizer;
  std::vector<TrainedParameter> trained;
  StateTensor learning_rate;
  std::optional<StateTensor> step;

  const LossDef* loss = nullptr;  // null for a custom one
  Reduction reduction = Reduction::mean;
  std::optional<int64_t> ignore_index;
  /// The loss is the row's, with no setting but the reduction and ignore_index.
  bool has_plain_loss = false;
  /// What the loss reads of the model, in the lifted inference graph.
  std::vector<const Value*> predictions;
  /// What it reads of the algorithm: inputs, which the data gives.
  std::vector<const Value*> labels;
  const Value* loss_value = nullptr;  // in `step_graph`
  /// Inference graph and algorithm joined, lifted, the optimizer in plain operators.
  Model step_graph;

  /// The value of the joined graph that stands for a prediction there: its own, or its twin in
  /// training mode.
  std::vector<const Value*> predictions_in_step;

  TrainingFacts facts;  // what it makes of the model's layers

  /// The names of slots, in order; the same for all parameters.
  std::vector<std::string> slot_names() const;
};

/// Recovers the job behind a training info; throws Error where it is none that another framework
/// could go on with. `graph` is the lifted inference graph of the model.
Job read_job(const Model& model, size_t info, const Graph& graph);

}  // namespace onward::emit
