#pragma once

#include "recipe/loss.h"
#include "recipe/optimizer.h"
#include "recipe/training_forward.h"

namespace onward {

/// All that decides how an algorithm looks, once names and patterns are resolved.
struct TrainingPlan {
  const Recipe& recipe;
  std::vector<Value*> parameters;  // dense initializers of the inference graph
  Value* prediction = nullptr;     // what the loss reads; null for a custom loss
  const Graph* custom_loss = nullptr;
};

/// A training info, and where its parts are.
struct Built {
  TrainingInfo info;
  WrittenLoss loss;
  TrainingForward forward;
  std::vector<ParameterGradient> gradients;
  OptimizerState optimizer;
};

/// Writes the algorithm. The same plan gives the same graph: recognise relies on it.
Built build_training(Model& model, const TrainingPlan& plan);

/// What the loss reads in the inference graph.
std::vector<Value*> loss_targets(const Model& model, const TrainingPlan& plan);

}  // namespace onward
