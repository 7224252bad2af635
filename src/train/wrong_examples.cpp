#include "train/wrong_examples.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace onward {
namespace {

/// Whether each row is a distribution already.
bool are_probabilities(const Tensor& scores) {
  const int64_t classes = scores.dims()[1];
  for (int64_t row = 0; row < scores.dims()[0]; ++row) {
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const double value = scores.number(row * classes + c);
      if (!(value >= 0 && value <= 1)) return false;
      sum += value;
    }
    if (std::abs(sum - 1) > 1e-3) return false;
  }
  return true;
}

std::vector<double> row_of(const Tensor& scores, int64_t row) {
  const int64_t classes = scores.dims()[1];
  std::vector<double> values;
  for (int64_t c = 0; c < classes; ++c) values.push_back(scores.number(row * classes + c));
  return values;
}

void take_softmax(std::vector<double>& values) {
  const double largest = *std::ranges::max_element(values);
  double sum = 0;
  for (double& value : values) sum += value = std::exp(value - largest);
  for (double& value : values) value /= sum;
}

void keep_worst(std::vector<WrongExample>& examples) {
  std::ranges::sort(examples, [](const WrongExample& a, const WrongExample& b) {
    return std::tie(b.loss, a.row) < std::tie(a.loss, b.row);
  });
  if (examples.size() > WrongExamples::kMost) examples.resize(WrongExamples::kMost);
}

}  // namespace

void WrongExamples::add(const ScoredBatch& batch) {
  const auto& [rows, compared] = batch;
  const auto& [how, scores, labels] = compared;
  const auto& dims = scores.dims();
  const int64_t classes = how.task == Task::classes && dims.size() > 1 ? dims[1] : 2;
  if (classes <= kMaxCountedClasses) gather_confusion(compared, tally_);
  if (how.task != Task::classes || dims.size() != 2 || dims[1] < 1) return;
  if (labels.dims() != std::vector<int64_t>{dims[0]} || std::ssize(rows) != dims[0]) return;
  const bool are_parts = !how.are_logits && are_probabilities(scores);
  for (int64_t i = 0; i < dims[0]; ++i) {
    const int64_t truth = labels.integer(i);
    if (truth < 0 || truth >= dims[1] || truth == how.ignored) continue;
    std::vector<double> parts = row_of(scores, i);
    if (!are_parts) take_softmax(parts);
    const auto best = std::ranges::max_element(parts);
    const auto predicted = static_cast<int64_t>(best - parts.begin());
    if (predicted == truth) continue;
    ++count_;
    const double of_truth = parts[static_cast<size_t>(truth)];
    if (std::isnan(of_truth)) continue;
    kept_.push_back({.row = rows[static_cast<size_t>(i)],
                     .truth = truth,
                     .predicted = predicted,
                     .probability = *best,
                     .of_truth = of_truth,
                     .loss = -std::log(of_truth)});
  }
  if (kept_.size() > 4 * kMost) keep_worst(kept_);
}

std::vector<WrongExample> WrongExamples::worst() const {
  std::vector<WrongExample> examples = kept_;
  keep_worst(examples);
  return examples;
}

}  // namespace onward
