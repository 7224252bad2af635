// Metrics that count which class was taken for which.

#include <algorithm>

#include "train/metric_batch.h"

namespace onward {
namespace {

/// What is counted of one class.
struct Counts {
  int64_t right = 0, labels = 0, predictions = 0;
};

double ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double precision(const Counts& c) { return ratio(c.right, c.predictions); }
double recall(const Counts& c) { return ratio(c.right, c.labels); }
double f1(const Counts& c) { return ratio(2 * c.right, c.labels + c.predictions); }
double iou(const Counts& c) { return ratio(c.right, c.labels + c.predictions - c.right); }

Counts counts_of(const Confusion& confusion, int64_t c) {
  Counts counts{.right = confusion.at(c, c)};
  for (int64_t other = 0; other < confusion.classes; ++other) {
    counts.labels += confusion.at(c, other);
    counts.predictions += confusion.at(other, c);
  }
  return counts;
}

using Ratio = double (*)(const Counts&);

/// Classes that neither labels nor predictions have count for nothing, as in scikit-learn.
Finding averaged(const Tally& tally, Average average, Ratio of) {
  if (tally.why_not != WhyNot::none) return {.why_not = std::string(to_string(tally.why_not))};
  const Confusion& confusion = tally.confusion;
  Counts all;
  double sum = 0, weights = 0;
  for (int64_t c = 0; c < confusion.classes; ++c) {
    const Counts counts = counts_of(confusion, c);
    all.right += counts.right;
    all.labels += counts.labels;
    all.predictions += counts.predictions;
    if (counts.labels + counts.predictions == 0) continue;
    const double weight = average == Average::weighted ? static_cast<double>(counts.labels) : 1;
    sum += weight * of(counts);
    weights += weight;
  }
  if (all.labels == 0) return {.why_not = "no label counts"};
  if (average == Average::micro) return {.value = of(all)};
  if (average == Average::usual && confusion.classes == 2) {
    return {.value = of(counts_of(confusion, 1))};
  }
  return {.value = sum / weights};
}

void count_pair(Confusion& confusion, int64_t classes, int64_t truth, int64_t predicted) {
  if (confusion.classes == 0) {
    confusion.classes = classes;
    confusion.counts.resize(static_cast<size_t>(classes * classes));
  }
  ++confusion.counts[static_cast<size_t>(truth * classes + predicted)];
}

}  // namespace

void add_accuracy(const Compared& batch, int64_t /*k*/, Mean& mean) {
  int64_t right = 0, all = 0;
  if (batch.how.task == Task::binary) {
    note_why_not(for_each_binary(batch,
                                 [&](int64_t label, double score) {
                                   right += (score > batch.how.threshold) == (label == 1);
                                   ++all;
                                 }),
                 mean.why_not);
  } else {
    for_each_label(batch, [&](int64_t label, const auto& scores) {
      const int64_t best = scores.best();
      if (best < 0) note_why_not(WhyNot::not_finite, mean.why_not);
      right += best == label;
      ++all;
    });
  }
  mean.sum.add(static_cast<double>(right));
  mean.count += all;
}

// The largest K, of equal scores those of later classes first, as scikit-learn sorts them.
void add_top_k(const Compared& batch, int64_t k, Mean& mean) {
  int64_t right = 0, all = 0;
  for_each_label(batch, [&](int64_t label, const auto& scores) {
    if (k >= scores.count) {
      throw Error(fmt::format("metric 'top-{}' of {} classes is always 1", k, scores.count));
    }
    require_class(label, scores.count);
    if (scores.any_nan()) note_why_not(WhyNot::not_finite, mean.why_not);
    const auto own = scores[label];
    int64_t before = 0;
    for (int64_t c = 0; c < scores.count; ++c) {
      before += scores[c] > own || (scores[c] == own && c > label);
    }
    right += before < k;
    ++all;
  });
  mean.sum.add(static_cast<double>(right));
  mean.count += all;
}

void gather_confusion(const Compared& batch, Tally& tally) {
  if (batch.how.task == Task::binary) {
    note_why_not(for_each_binary(batch,
                                 [&](int64_t label, double score) {
                                   count_pair(tally.confusion, 2, label,
                                              score > batch.how.threshold ? 1 : 0);
                                 }),
                 tally.why_not);
    return;
  }
  for_each_label(batch, [&](int64_t label, const auto& scores) {
    require_class(label, scores.count);
    const int64_t best = scores.best();
    if (best < 0) return note_why_not(WhyNot::not_finite, tally.why_not);
    count_pair(tally.confusion, scores.count, label, best);
  });
}

Finding finish_precision(const MetricDef& def, const Comparison&, const Tally& tally) {
  return averaged(tally, def.average, precision);
}

Finding finish_recall(const MetricDef& def, const Comparison&, const Tally& tally) {
  return averaged(tally, def.average, recall);
}

Finding finish_f1(const MetricDef& def, const Comparison&, const Tally& tally) {
  return averaged(tally, def.average, f1);
}

Finding finish_mean_iou(const MetricDef& def, const Comparison&, const Tally& tally) {
  return averaged(tally, def.average, iou);
}

}  // namespace onward
