// Metrics of numbers: how far predictions are off.

#include <algorithm>

#include "train/metric_batch.h"

namespace onward {
namespace {

/// Adds what `error` makes of each difference.
template <typename Measure>
void add_errors(const Compared& batch, Mean& mean, Measure measure) {
  for_each_pair(batch, [&](double label, double prediction) {
    if (!std::isfinite(label) || !std::isfinite(prediction)) {
      return note_why_not(WhyNot::not_finite, mean.why_not);
    }
    mean.sum.add(measure(label - prediction));
    ++mean.count;
  });
}

}  // namespace

void add_squared_error(const Compared& batch, int64_t /*k*/, Mean& mean) {
  add_errors(batch, mean, [](double error) { return error * error; });
}

void add_absolute_error(const Compared& batch, int64_t /*k*/, Mean& mean) {
  add_errors(batch, mean, [](double error) { return std::fabs(error); });
}

// The spread of labels by Welford's update, of what they are beyond the first: so it is 0 for
// labels that are all the same, and labels far from 0 lose no digits.
void gather_spread(const Compared& batch, Tally& tally) {
  const auto& dims = batch.labels.dims();
  const auto outputs =
      static_cast<size_t>(dims.empty() || dims[0] == 0 ? 1 : batch.labels.size() / dims[0]);
  if (tally.outputs.empty()) tally.outputs.resize(outputs);
  if (!dims.empty() && dims[0] > 0 && tally.outputs.size() != outputs) {
    throw Error(fmt::format("metric 'r2' needs examples of one size: some have {} numbers, some {}",
                            tally.outputs.size(), outputs),
                ErrorCode::data);
  }
  size_t place = 0;
  for_each_pair(batch, [&](double label, double prediction) {
    if (!std::isfinite(label) || !std::isfinite(prediction)) {
      note_why_not(WhyNot::not_finite, tally.why_not);
    }
    if (place == 0) ++tally.examples;
    Tally::Output& output = tally.outputs[place];
    if (tally.examples == 1) output.first = label;
    const double beyond = label - output.first, from_mean = beyond - output.mean;
    output.mean += from_mean / static_cast<double>(tally.examples);
    output.squares += from_mean * (beyond - output.mean);
    output.error.add((label - prediction) * (label - prediction));
    place = (place + 1) % tally.outputs.size();
  });
}

// 1 - sum (y - p)^2 / sum (y - mean y)^2, the mean of it over an example's numbers; of labels that
// are all the same 1 where predictions are right, else 0.
Finding finish_r2(const MetricDef&, const Comparison&, const Tally& tally) {
  if (tally.why_not != WhyNot::none) return {.why_not = std::string(to_string(tally.why_not))};
  if (tally.examples < 2) return {.why_not = "it takes at least two examples"};
  double sum = 0;
  for (const Tally::Output& output : tally.outputs) {
    const double error = output.error.value();
    if (output.squares != 0) {
      sum += 1 - error / output.squares;
    } else {
      sum += error == 0 ? 1 : 0;
    }
  }
  return {.value = sum / static_cast<double>(tally.outputs.size())};
}

}  // namespace onward
