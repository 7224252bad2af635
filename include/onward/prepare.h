#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "onward/model.h"

namespace onward::api {

/// Settings of an optimizer by name (beta1, weight_decay ...); docs/recipes.md has them all.
using Settings = std::map<std::string, double>;

/// An optimizer exactly as a framework computes it: torch or keras; or the standard's node: onnx.
/// What no setting is given for is as that framework has it.
struct Optimizer {
  std::string name = "adam";
  Settings settings = {};
  std::string formula = "torch";
};

/// An optimizer with a learning rate: `adam(1e-3)`, `adam(1e-3, {{"beta2", 0.99}})`.
inline Optimizer optimizer(std::string name, double lr, Settings settings = {}) {
  settings["lr"] = lr;
  return {.name = std::move(name), .settings = std::move(settings)};
}
inline Optimizer sgd(double lr, Settings settings = {}) {
  return optimizer("sgd", lr, std::move(settings));
}
inline Optimizer momentum(double lr, Settings settings = {}) {
  return optimizer("momentum", lr, std::move(settings));
}
inline Optimizer nesterov(double lr, Settings settings = {}) {
  return optimizer("nesterov", lr, std::move(settings));
}
inline Optimizer adam(double lr, Settings settings = {}) {
  return optimizer("adam", lr, std::move(settings));
}
inline Optimizer adamw(double lr, Settings settings = {}) {
  return optimizer("adamw", lr, std::move(settings));
}
inline Optimizer adagrad(double lr, Settings settings = {}) {
  return optimizer("adagrad", lr, std::move(settings));
}
inline Optimizer rmsprop(double lr, Settings settings = {}) {
  return optimizer("rmsprop", lr, std::move(settings));
}

/// How a model is trained. Names are those of `onward prepare`.
struct PrepareOptions {
  std::string loss = "softmax_cross_entropy";
  Optimizer optimizer = {};
  /// Settings of the optimizer by patterns of parameters' names; the first that matches counts.
  std::vector<std::pair<std::string, Settings>> groups = {};
  /// Whether weight_decay applies to biases and scales of normalizations.
  bool decay_biases = true;
  std::string schedule = "constant";  // step, exponential, linear, cosine, one_cycle
  Settings schedule_settings = {};    // warmup_steps, schedule_steps ...
  /// Limits of gradients, of which one at most: of the norm of all, of each tensor's, of elements.
  std::optional<double> clip_norm = {}, clip_norm_each = {}, clip_value = {};
  /// Keep a moving average of each parameter, NAME.ema, of which so much stays in a step.
  std::optional<double> ema = {};
  /// In place of `loss`: a model whose inputs are named like outputs of the model, or become
  /// labels, and whose one output is the loss.
  std::optional<Model> custom_loss = {};
  /// The model's output that the loss reads; may be left empty where there is only one.
  std::string model_output = {};
  std::string loss_reads = "logits";  // or output
  std::string reduction = "mean";     // or sum
  /// Of the loss: label_smoothing, delta ...; docs/recipes.md has them all.
  Settings loss_settings = {};
  /// Labels of this number count for nothing, in losses of classes.
  std::optional<int64_t> ignore_index = {};
  /// In losses of classes: what each counts, and the output's dimension that has them.
  std::vector<double> class_weights = {};
  int64_t class_axis = 1;
  /// Patterns (* and ?) of the names of tensors to train, or to freeze, whatever their roles say.
  std::vector<std::string> train = {}, freeze = {};
  std::string batch_norm = "frozen";      // or batch
  std::string batch_variance = "biased";  // or unbiased
  std::optional<double> batch_momentum = {};
  bool dropout = true;
  /// Drop the training infos that the model has already, instead of refusing it.
  bool replace = false;
  /// Prepare also what Onward can't train itself, for others to train.
  bool force = false;
  /// A new classifier for so many classes, whose weights start by that seed.
  std::optional<int64_t> classes = {};
  uint64_t head_seed = 0;
  /// In place of the classifier: a model with one input, which takes what the classifier took.
  std::optional<Model> head = {};
  /// Names of the classes, for the model to keep.
  std::vector<std::string> labels = {};
  /// Train the classifier, or the head in its place, alone, and what `train` matches.
  bool freeze_backbone = false;
  /// Leave a fixed batch size as it is, also where every node would take another one.
  bool keep_batch = false;
};

/// Makes an inference model trainable: adds a training info with loss, gradients and optimizer.
ONWARD_API Model prepare(const Model& model, const PrepareOptions& options = {});

}  // namespace onward::api
