// Losses: as nodes of a model, and as a job's.

#include "emit/loss.h"

#include <fmt/format.h>

#include "emit/keras/calls.h"
#include "emit/keras/dialect.h"
#include "emit/shared_calls.h"
#include "emit/source.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit::keras {
namespace {

// Keras gives a plain function labels and predictions that it has brought to the same rank; a Loss
// gets them as they are.
constexpr std::string_view kLoss = R"(@keras.saving.register_keras_serializable()
class Loss(keras.losses.Loss):
    def call(self, {}):
{}        return {}
)";

LossText written(const Job& job, SourceContext& context) {
  const LossFunction function = write_loss(job, context, context.dialect->cast);
  std::vector<std::string> arguments = function.labels;
  arguments.insert(arguments.end(), function.predictions.begin(), function.predictions.end());
  return {
      fmt::format(kLoss, fmt::join(arguments, ", "), indented(function.lines, 2), function.result),
      "Loss()"};
}

/// Whether Keras would take what the value is computed from for logits: its losses look through a
/// Sigmoid or Softmax, even where they are told that they read logits.
bool looks_through(const Value* value) {
  const Node* node = value->producer();
  while (node && (node->op == "Identity" || node->op == "Dropout")) {
    node = node->input(0)->producer();
  }
  return node && (node->op == "Sigmoid" || node->op == "Softmax");
}

/// Whether Keras's class reads the prediction as the loss does.
bool class_reads(const LossDef& loss, const Value* prediction) {
  const auto dimensions = rank(prediction);
  // It has the classes in the last dimension.
  if (loss.label == Label::classes && dimensions != 2) return false;
  // It would bring labels to the rank of predictions, where that is not what they have.
  if (loss.label == Label::like_prediction && !dimensions) return false;
  return !loss.reads_logits() || !looks_through(prediction);
}

/// Whether Keras has the loss. Its sum is that of means over the last dimension, and it counts
/// other labels.
bool is_plain(const Job& job) {
  return job.has_plain_loss && !job.loss->keras.name.empty() && job.reduction == Reduction::mean &&
         !job.ignore_index;
}

bool is_reshape(const Value* value, const Value* of, const std::vector<int64_t>& to) {
  const Node* node = value ? value->producer() : nullptr;
  const Tensor* shape = node && node->op == "Reshape" ? node->input(1)->tensor() : nullptr;
  return shape && node->input(0) == of && shape->integers() == to;
}

/// Whether it is the mean cross entropy of classes that are in the last dimension, as Keras has it:
/// rows of logits, and a label for each.
bool is_of_rows(const Job& job) {
  const Node* node = job.loss_value ? job.loss_value->producer() : nullptr;
  const Value *prediction = job.predictions_in_step[0], *label = job.labels[0];
  const auto dimensions = rank(prediction);
  if (!node || !node->domain.empty() || node->op != "SoftmaxCrossEntropyLoss" || node->input(2) ||
      node->attribute("ignore_index") || node->string_or("reduction", "mean") != "mean" ||
      !dimensions || *dimensions < 2 || looks_through(prediction)) {
    return false;
  }
  const auto classes = prediction->type.shape->back().value;
  return rank(label) == *dimensions - 1 && classes && *classes > 1 &&
         is_reshape(node->input(0), prediction, {-1, *classes}) &&
         is_reshape(node->input(1), label, {-1});
}

}  // namespace

std::string cross_entropy(const Call& c) {
  const std::string log_prob = fmt::format("ops.log_softmax({}, axis=1)", c.in(0));
  return with_log_prob(c,
                       fmt::format("{}({}, {}{})", c.function("negative_log_likelihood"), log_prob,
                                   c.in(1), loss_options(c)),
                       log_prob);
}

std::string nll_loss(const Call& c) {
  return fmt::format("{}({}, {}{})", c.function("negative_log_likelihood"), c.in(0), c.in(1),
                     loss_options(c));
}

bool looks_through(const Job& job) {
  if (!is_plain(job) || !job.loss->reads_logits() || job.predictions.size() != 1) return false;
  const Value* read = job.predictions[0];
  const auto outputs = read->graph().outputs();
  const Node* last = outputs.size() == 1 ? outputs[0]->producer() : nullptr;
  const auto dimensions = rank(read);
  if (!last || !last->domain.empty() || last->input(0) != read || !dimensions ||
      outputs[0]->type.dtype != read->type.dtype) {
    return false;
  }
  if (job.loss->label == Label::like_prediction) return last->op == "Sigmoid";
  const int64_t axis = last->int_or("axis", -1);
  const auto classes = (*read->type.shape)[static_cast<size_t>(*dimensions) - 1].value;
  // A single class would be taken for no dimension.
  return last->op == "Softmax" && *dimensions == 2 && (axis == -1 || axis == 1) && classes &&
         *classes > 1;
}

LossText loss(const Job& job, SourceContext& context) {
  if (job.predictions.size() != 1 || job.labels.size() != 1) {
    throw Error(fmt::format(
        "a loss of Keras reads one prediction and one label, this one {} and {}; torch takes it",
        job.predictions.size(), job.labels.size()));
  }
  if (is_of_rows(job)) {
    return {{}, "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"};
  }
  if (looks_through(job)) return {{}, fmt::format("keras.losses.{}()", job.loss->keras.name)};
  if (!is_plain(job) || !class_reads(*job.loss, job.predictions[0])) return written(job, context);
  return {{}, fmt::format("keras.losses.{}({})", job.loss->keras.name, job.loss->keras.arguments)};
}

}  // namespace onward::emit::keras
