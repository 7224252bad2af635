#pragma once

// Makes an inference model trainable: decides which initializers are parameters, and writes loss,
// gradients and optimizer as a training info of the standard. docs/recipes.md has the formulas.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/model.h"
#include "recipe/optimizer_settings.h"

namespace onward {

/// The name of a loss that is a graph of its own, Recipe::loss_graph. All others have a row in the
/// table of losses (loss_def.h).
inline constexpr std::string_view kCustomLoss = "custom";

/// What is taken of the losses of all elements, or of all labels that count.
enum class Reduction : uint8_t { mean, sum };

/// What a loss of logits reads where the output is a Softmax, LogSoftmax or Sigmoid of them: the
/// logits, as whoever has an inference model alone means it, or the output whatever computes it, as
/// frameworks do.
enum class LossReads : uint8_t { logits, output };

/// BatchNormalization in training: by its running statistics as in inference, or by the batch's,
/// from which the running ones are updated.
enum class BatchNormMode : uint8_t { frozen, batch };

/// The variance that goes into the running one: over n (the standard, Keras) or n - 1 (PyTorch).
enum class BatchVariance : uint8_t { biased, unbiased };

/// Parameters with settings of their own.
struct ParameterGroup {
  std::string pattern;  // of their names, as in Recipe::train
  /// The optimizer's settings that differ, by either name; all others are the recipe's.
  std::map<std::string, double, std::less<>> settings = {};

  friend bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

/// What is done with gradients before the optimizer sees them; one of these at most.
struct Clipping {
  std::optional<double> norm = {};       // of all of them together, as of one vector
  std::optional<double> norm_each = {};  // of each tensor
  std::optional<double> value = {};      // of each element

  friend bool operator==(const Clipping&, const Clipping&) = default;
};

/// What a user says about a training, and all that `prepare` needs beside the model.
struct Recipe {
  std::string loss = "softmax_cross_entropy";
  /// For a custom loss: inputs named like outputs (or inputs) of the model, and others, which
  /// become inputs of the step (labels); its one output is the loss, a scalar.
  std::shared_ptr<const Model> loss_graph = {};
  /// The model's output that the loss reads; may be left empty where there is only one.
  std::string output = {};
  LossReads loss_reads = LossReads::logits;
  Reduction reduction = Reduction::mean;
  /// Numbers of the loss's row that are not as they are there, by name.
  std::map<std::string, double, std::less<>> loss_settings = {};
  /// Labels of this number count for nothing, in losses of classes.
  std::optional<int64_t> ignore_index = {};
  /// In losses of classes: what each counts; empty where all count alike.
  std::vector<double> class_weights = {};
  /// The prediction's dimension that has the classes; from the last one backwards, if negative.
  int64_t class_axis = 1;
  OptimizerSettings optimizer = {};
  /// The first whose pattern matches counts.
  std::vector<ParameterGroup> groups = {};
  /// Whether biases, and scales of normalizations, lose weight as other parameters do.
  bool decays_biases = true;
  /// How the learning rate changes, by a name of the table of schedules (schedule_def.h), and its
  /// numbers that are not as they are there.
  std::string schedule = "constant";
  std::map<std::string, double, std::less<>> schedule_settings = {};
  Clipping clip = {};
  /// How much of a moving average of each parameter stays in a step; without it none is kept.
  std::optional<double> ema = {};
  /// Patterns (* and ?) of the names of tensors to train, or to keep, whatever their roles say;
  /// one that both match is trained.
  std::vector<std::string> train = {}, freeze = {};
  BatchNormMode batch_norm = BatchNormMode::frozen;
  BatchVariance batch_variance = BatchVariance::biased;
  /// How much of the running statistics stays; without it, each node's attribute.
  std::optional<double> batch_momentum = {};
  /// Whether Dropout nodes drop while training.
  bool dropout = true;
  /// Drop the training infos that the model has already, instead of refusing it.
  bool replace = false;
  /// Prepare also what Onward can't train itself, for others to train.
  bool force = false;
  /// A classifier for so many classes, whose weights start anew by that seed.
  std::optional<int64_t> classes = {};
  uint64_t head_seed = 0;
  /// In place of the classifier: a model with one input, which takes what the classifier took.
  std::shared_ptr<const Model> head = {};
  /// Names of the classes, which the model keeps for trainings and predictions.
  std::vector<std::string> labels = {};
  /// Train the classifier (or the head in its place) alone, and what `train` matches.
  bool freeze_backbone = false;
  /// Leave the batch size fixed where it is.
  bool keep_batch = false;
};

/// Why an initializer is trained, or not.
struct Decision {
  std::string name;
  Type type;
  bool trained = false;
  std::string reason;
};

struct Prepared {
  Model model;
  std::vector<Decision> decisions;  // in file order: all floats, and what a pattern names
  std::vector<std::string> notes;   // whatever else was decided, one sentence each
};

/// Gives the model with one more training info, in which training means what the recipe says, and
/// the reason of each decision. Throws an Error that says what to do where the model is not valid,
/// a name or a pattern matches nothing, loss and model do not fit, or Onward itself could not train
/// the result.
Prepared prepare_with_reasons(Model model, const Recipe& recipe);
Model prepare(Model model, const Recipe& recipe);

/// What the optimizer keeps for a parameter, under the framework's own name ("exp_avg").
struct Slot {
  std::string name;
  const Value* value;  // an initializer of the algorithm
};

struct TrainedTensor {
  const Value* parameter;  // an initializer of the inference graph
  const Value* gradient;   // an output of the Gradient node
  std::vector<Slot> slots;
};

/// A node of the inference graph and the one that takes its place in training.
struct NodePair {
  const Node* inference;
  const Node* training;
};

/// A training info that was written by a recipe, part by part.
struct Recognised {
  Recipe recipe;  // learning_rate as it is now
  std::vector<TrainedTensor> trained;
  const Value* prediction = nullptr;  // what the loss reads, in the inference graph; custom: null
  const Value* label = nullptr;       // an input of the algorithm; custom: null
  const Value* loss = nullptr;
  const Value* learning_rate = nullptr;  // an initializer of the algorithm
  const Value* step = nullptr;           // the count of steps, where the optimizer keeps one
  /// Nodes that the algorithm runs again in training mode, in order; all others it shares.
  std::vector<NodePair> forward;
};

/// Recovers the recipe behind a training info: from the hint that `prepare` leaves, which counts
/// only where building anew from it gives the same graph, or from the standard's optimizer nodes.
/// Nothing where that is not exactly so. It points into the model.
std::optional<Recognised> recognise(const Model& model, size_t info);

// Names as the command line and the hint spell them; an unknown one is an Error that lists them.
std::string_view to_string(Reduction reduction);
std::string_view to_string(LossReads reads);
std::string_view to_string(Formula formula);
std::string_view to_string(BatchNormMode mode);
std::string_view to_string(BatchVariance variance);
Reduction reduction_of(std::string_view name);
LossReads loss_reads_of(std::string_view name);
Formula formula_of(std::string_view name);
BatchNormMode batch_norm_mode(std::string_view name);
BatchVariance batch_variance_of(std::string_view name);

}  // namespace onward
