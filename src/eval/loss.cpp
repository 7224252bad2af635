#include <fmt/format.h>

#include "eval/families.h"
#include "eval/softmax.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// The loss for log-probabilities with the classes in dimension 1, and labels without it.
template <typename T>
Tensor negative_log_likelihood(const Context& c, const Array<T>& log_prob) {
  const Tensor& labels = c.input(1);
  std::vector<int64_t> expected = log_prob.dims;
  if (expected.size() < 2) throw Error("the scores have no dimension for the classes");
  expected.erase(expected.begin() + 1);
  if (labels.dims() != expected) {
    throw Error(fmt::format("labels of shape {} do not fit scores of shape {}",
                            to_string(labels.dims()), to_string(log_prob.dims)));
  }
  const int64_t classes = log_prob.dims[1];
  const int64_t inner = checked_element_count(std::span<const int64_t>(log_prob.dims).subspan(2));
  const auto* ignored = c.node().get<int64_t>("ignore_index");
  Array<T> weights(std::vector<int64_t>{classes}, T(1));
  if (c.has(2)) weights = c.array<T>(2);
  if (weights.size() != classes)
    throw Error(fmt::format("{} weights for {} classes", weights.size(), classes));

  Array<T> loss(labels.dims());
  T total_weight = 0, total = 0;
  for (int64_t i = 0; i < labels.size(); ++i) {
    const int64_t label = labels.integer(i);
    if (ignored && label == *ignored) continue;
    if (label < 0 || label >= classes) {
      throw Error(fmt::format("label {} is none of {} classes", label, classes));
    }
    const int64_t at = (i / inner * classes + label) * inner + i % inner;
    loss[i] = -log_prob[at] * weights[label];
    total += loss[i];
    total_weight += weights[label];
  }
  const DType dtype = c.input(0).dtype();
  const std::string reduction = c.node().string_or("reduction", "mean");
  if (reduction == "none") return to_tensor(loss, dtype);
  if (reduction != "sum" && reduction != "mean")
    throw Error(fmt::format("there is no reduction '{}'", reduction));
  Array<T> result(std::vector<int64_t>{}, reduction == "mean" ? total / total_weight : total);
  return to_tensor(result, dtype);
}

Tensors nll_loss(const Context& c) {
  return compute_as_float(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    return {negative_log_likelihood(c, c.array<T>(0))};
  });
}

Tensors softmax_cross_entropy(const Context& c) {
  return compute_as_float(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const Array<T> scores = c.array<T>(0);
    if (scores.rank() < 2) throw Error("the scores have no dimension for the classes");
    const Array<T> log_prob = log_softmax(scores, 1);
    return {negative_log_likelihood(c, log_prob), to_tensor(log_prob, c.input(0).dtype())};
  });
}

constexpr KernelDef kLossKernels[] = {
    {"NegativeLogLikelihoodLoss", nll_loss},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const KernelDef> loss_kernels() { return kLossKernels; }

}  // namespace onward::eval
