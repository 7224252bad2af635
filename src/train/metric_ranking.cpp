// The area under the ROC curve: how often a positive example scores above a negative one, a tie
// counting half.

#include <algorithm>
#include <numeric>

#include "train/metric_batch.h"

namespace onward {
namespace {

/// 1 GiB of them.
constexpr size_t kMostNumbers = size_t{1} << 27;

void keep(Tally::Scores& kept, int64_t label, std::span<const double> scores) {
  if (kept.numbers.size() + scores.size() > kMostNumbers) {
    throw Error(
        fmt::format("metric 'auc' keeps all scores of an evaluation, which are more than "
                    "{} here: leave it out",
                    kMostNumbers));
  }
  kept.columns = std::ssize(scores);
  kept.labels.push_back(static_cast<int32_t>(label));
  kept.numbers.insert(kept.numbers.end(), scores.begin(), scores.end());
}

/// Examples with the scores of one class.
struct Column {
  std::vector<double> scores;
  std::vector<bool> is_positive;
};

/// Nothing where all examples are positive, or none is.
std::optional<double> area(const Column& column) {
  std::vector<size_t> order(column.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return column.scores[i]; });
  // Pairs are counted twice, so that a tie counts one.
  uint64_t won = 0, positives = 0, negatives = 0;
  for (size_t begin = 0; begin < order.size();) {
    uint64_t here = 0;
    size_t end = begin;
    while (end < order.size() && column.scores[order[end]] == column.scores[order[begin]]) {
      here += column.is_positive[order[end++]] ? 1 : 0;
    }
    const uint64_t others = end - begin - here;
    won += here * (2 * negatives + others);
    positives += here;
    negatives += others;
    begin = end;
  }
  if (positives == 0 || negatives == 0) return std::nullopt;
  return static_cast<double>(won) /
         (2 * static_cast<double>(positives) * static_cast<double>(negatives));
}

/// Whether each row is probabilities already: what scikit-learn asks for.
bool are_probabilities(const Tally::Scores& kept) {
  const auto columns = static_cast<size_t>(kept.columns);
  for (size_t row = 0; row < kept.labels.size(); ++row) {
    const std::span<const double> scores(kept.numbers.data() + row * columns, columns);
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    if (*std::ranges::min_element(scores) < 0 || !(std::fabs(sum - 1) <= 1e-5)) return false;
  }
  return true;
}

void softmax(std::span<double> scores) {
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - most);
  for (double& score : scores) score /= sum;
}

}  // namespace

void gather_scores(const Compared& batch, Tally& tally) {
  if (batch.how.task == Task::binary) {
    note_why_not(
        for_each_binary(
            batch, [&](int64_t label, double score) { keep(tally.scores, label, {&score, 1}); }),
        tally.why_not);
    return;
  }
  std::vector<double> row;
  for_each_label(batch, [&](int64_t label, const auto& scores) {
    require_class(label, scores.count);
    row.clear();
    for (int64_t c = 0; c < scores.count; ++c) row.push_back(static_cast<double>(scores[c]));
    // Of two classes the difference ranks as the second one's probability does, and never rounds
    // to 1.
    if (row.size() == 2) row = {row[1] - row[0]};
    if (std::ranges::any_of(row, [](double score) { return std::isnan(score); })) {
      return note_why_not(WhyNot::not_finite, tally.why_not);
    }
    keep(tally.scores, label, row);
  });
}

Finding finish_auc(const MetricDef&, const Comparison& how, const Tally& tally) {
  if (tally.why_not != WhyNot::none) return {.why_not = std::string(to_string(tally.why_not))};
  const Tally::Scores& kept = tally.scores;
  if (kept.labels.empty()) return {.why_not = "no label counts"};
  const auto columns = static_cast<size_t>(kept.columns);
  std::vector<double> numbers = kept.numbers;
  if (columns > 1 && (how.are_logits || !are_probabilities(kept))) {
    for (size_t i = 0; i < numbers.size(); i += columns) softmax({numbers.data() + i, columns});
  }
  double sum = 0;
  for (size_t c = 0; c < columns; ++c) {
    const auto positive = static_cast<int32_t>(columns == 1 ? 1 : c);
    Column column;
    for (size_t row = 0; row < kept.labels.size(); ++row) {
      column.scores.push_back(numbers[row * columns + c]);
      column.is_positive.push_back(kept.labels[row] == positive);
    }
    if (std::ranges::any_of(column.scores, [](double score) { return std::isnan(score); })) {
      return {.why_not = "the softmax of infinite scores is NaN"};
    }
    const auto found = area(column);
    if (!found) {
      const bool none = std::ranges::find(kept.labels, positive) == kept.labels.end();
      return {.why_not = fmt::format("{} examples have label {}", none ? "no" : "all", positive)};
    }
    sum += *found;
  }
  return {.value = sum / static_cast<double>(columns)};
}

}  // namespace onward
