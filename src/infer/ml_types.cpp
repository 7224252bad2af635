#include "infer/ml_types.h"

#include <algorithm>
#include <limits>

namespace onward {
namespace {

using Integers = std::vector<int64_t>;

constexpr int64_t kLongest = std::numeric_limits<int32_t>::max();

Dim count(int64_t number) { return number >= 0 && number <= kLongest ? Dim::known(number) : Dim(); }

template <typename T>
int64_t length(const Node& node, const char* attribute) {
  const auto* list = node.get<std::vector<T>>(attribute);
  return list ? static_cast<int64_t>(list->size()) : 0;
}

/// How many rows an input has; a vector is one.
Dim rows_of(const Value* input) {
  const auto& shape = input->type.shape;
  if (!shape || shape->empty()) return {};
  return shape->size() == 1 ? Dim::known(1) : shape->front();
}

/// Scores of classes, or of pairs of classes where support vectors have no probabilities.
Dim svm_scores(const Node& node) {
  const int64_t classes = std::max(length<int64_t>(node, "classlabels_ints"),
                                   length<std::string>(node, "classlabels_strings"));
  const auto* vectors = node.get<Integers>("vectors_per_class");
  const bool has_vectors =
      vectors && std::ranges::any_of(*vectors, [](int64_t each) { return each > 0; });
  if (!has_vectors || length<float>(node, "prob_a") > 0 || classes <= 2) return count(classes);
  return classes <= kLongest ? count(classes * (classes - 1) / 2) : Dim();
}

Dim joined_features(const Node& node) {
  int64_t all = 0;
  const auto* sizes = node.get<Integers>("inputdimensions");
  if (!sizes) return {};
  for (const int64_t size : *sizes) {
    if (size < 0 || size > kLongest - all) return {};
    all += size;
  }
  return count(all);
}

/// The shape of each output, in order; nothing of an operator whose rule tells it.
std::vector<std::optional<Shape>> shapes_of(const Node& node) {
  const Dim rows = rows_of(node.input(0));
  if (node.op == "Scaler" || node.op == "Normalizer" || node.op == "Imputer") {
    return {node.input(0)->type.shape};
  }
  if (node.op == "FeatureVectorizer") return {Shape{rows, joined_features(node)}};
  if (node.op == "LinearRegressor") return {Shape{rows, count(node.int_or("targets", 1))}};
  if (node.op == "SVMRegressor") return {Shape{rows, Dim::known(1)}};
  if (node.op == "SVMClassifier") return {Shape{rows}, Shape{rows, svm_scores(node)}};
  return {};
}

}  // namespace

void add_ml_shapes(const Node& node, std::span<Type> outputs) {
  if (node.domain != "ai.onnx.ml" || node.inputs().empty() || !node.input(0)) return;
  const auto shapes = shapes_of(node);
  for (size_t i = 0; i < std::min(shapes.size(), outputs.size()); ++i) {
    if (outputs[i].is_tensor() && !outputs[i].shape) outputs[i].shape = shapes[i];
  }
}

}  // namespace onward
