// Losses of classes, which are in dimension 1.

#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/algorithm.h"
#include "recipe/loss_formulas.h"

namespace onward {
namespace {

/// What each class counts, of the prediction's type; nothing where all count alike.
std::optional<Expr> class_weights(const LossParts& parts, Expr prediction) {
  const std::vector<double>& weights = parts.recipe.class_weights;
  if (weights.empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(weights.size());
  return prediction.builder().expr(
      parts.algorithm.constants("class_weights", weights, {count}, prediction.dtype()));
}

Expr class_loss(const LossParts& parts, std::string_view op, Expr prediction, Expr label) {
  std::vector<NamedAttribute> attributes = {
      {"reduction", std::string(to_string(parts.recipe.reduction))}};
  if (parts.recipe.ignore_index) attributes.push_back({"ignore_index", *parts.recipe.ignore_index});
  std::vector<Value*> inputs = values({prediction, label});
  if (const auto weights = class_weights(parts, prediction)) inputs.push_back(weights->value());
  return prediction.builder().add(op, std::move(inputs), prediction.dtype(), attributes);
}

Expr log_softmax(Expr logits) {
  return logits.builder().add("LogSoftmax", {logits.value()}, logits.dtype(),
                              {{"axis", int64_t{1}}});
}

Expr sum_over_classes(Expr x, bool keeps) {
  Builder& builder = x.builder();
  const Expr axes = builder.integers({1});
  return builder.add("ReduceSum", values({x, axes}), x.dtype(), {{"keepdims", int64_t{keeps}}});
}

Expr class_count(Expr x) {
  const Expr size = x.builder().add("Shape", {x.value()}, DType::i64,
                                    {{"start", int64_t{1}}, {"end", int64_t{2}}});
  return cast(size, x.dtype());
}

/// The weights in dimension 1 of the prediction's rank.
Expr weights_beside(const LossParts& parts, Expr prediction) {
  const auto dimensions = rank(prediction.value());
  if (!dimensions) {
    throw Error("class_weights with label_smoothing need a prediction whose rank is known");
  }
  const std::vector<double>& weights = parts.recipe.class_weights;
  std::vector<int64_t> dims(static_cast<size_t>(*dimensions), 1);
  dims[1] = static_cast<int64_t>(weights.size());
  return prediction.builder().expr(
      parts.algorithm.constants("class_weights_beside", weights, dims, prediction.dtype()));
}

}  // namespace

// With smoothing s: (1 - s) times that of the labels, plus s times that of all classes alike. The
// latter is written as a loss of labels too, so that it is averaged over the same labels by the
// same weights: for each class the mean over all of weight times loss, divided by its own weight.
Expr softmax_cross_entropy(const LossParts& parts, Expr logits, Expr label) {
  const Expr loss = class_loss(parts, "SoftmaxCrossEntropyLoss", logits, label);
  const double smoothing = parts["label_smoothing"];
  if (smoothing == 0) return loss;
  Expr logs = log_softmax(logits);
  const Expr shape = logits.builder().add("Shape", {logs.value()}, DType::i64);
  std::optional<Expr> weights;
  if (!parts.recipe.class_weights.empty()) weights = weights_beside(parts, logits);
  if (weights) logs = logs * *weights;
  const Expr mean = sum_over_classes(logs, true) / class_count(logits);
  const Expr alike =
      weights ? mean / *weights : mean.builder().add("Expand", values({mean, shape}), mean.dtype());
  return parts.number(logits, "one_minus_smoothing", 1 - smoothing) * loss +
         parts.number(logits, "label_smoothing", smoothing) *
             class_loss(parts, "NegativeLogLikelihoodLoss", alike, label);
}

Expr negative_log_likelihood(const LossParts& parts, Expr logs, Expr label) {
  return class_loss(parts, "NegativeLogLikelihoodLoss", logs, label);
}

// Of shares z of each class, which need not add up to one: -sum z' log softmax(x), with
// z' = (1 - s) z + s / C
Expr categorical_cross_entropy(const LossParts& parts, Expr logits, Expr shares) {
  Expr wanted = shares;
  if (const double smoothing = parts["label_smoothing"]; smoothing != 0) {
    wanted = shares * parts.number(logits, "one_minus_smoothing", 1 - smoothing) +
             parts.number(logits, "label_smoothing", smoothing) / class_count(logits);
  }
  Expr products = wanted * log_softmax(logits);
  if (!parts.recipe.class_weights.empty()) products = products * weights_beside(parts, logits);
  return -sum_over_classes(products, false);
}

}  // namespace onward
