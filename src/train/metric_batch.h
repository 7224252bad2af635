#pragma once

// How metrics walk through a batch.

#include <fmt/format.h>

#include <cmath>

#include "onward/error.h"
#include "train/metric_table.h"

namespace onward {

/// Calls `use` with the elements, as floats or doubles.
template <typename Use>
void with_numbers(const Tensor& tensor, Use use) {
  if (tensor.dtype() == DType::f32) return use(tensor.data<float>());
  if (tensor.dtype() == DType::f64) return use(tensor.data<double>());
  std::vector<double> numbers(static_cast<size_t>(tensor.size()));
  for (int64_t i = 0; i < tensor.size(); ++i) numbers[static_cast<size_t>(i)] = tensor.number(i);
  use(std::span<const double>(numbers));
}

/// The scores of one label's classes.
template <typename T>
struct ClassScores {
  const T* first;
  int64_t stride, count;

  T operator[](int64_t c) const { return first[c * stride]; }

  bool any_nan() const {
    bool found = false;
    for (int64_t c = 0; c < count; ++c) found |= std::isnan((*this)[c]);
    return found;
  }
  /// The first of the largest, of numbers; -1 where one is NaN.
  int64_t best() const {
    int64_t best = 0;
    T most = first[0];
    bool is_nan = std::isnan(most);
    for (int64_t c = 1; c < count; ++c) {
      const T score = (*this)[c];
      is_nan |= std::isnan(score);
      if (!(score > most)) continue;
      best = c;
      most = score;
    }
    return is_nan ? -1 : best;
  }
};

/// Calls visit(label, ClassScores) for each label that counts.
template <typename Visit>
void for_each_label(const Compared& batch, Visit visit) {
  const auto& dims = batch.scores.dims();
  const Tensor& labels = batch.labels;
  std::vector<int64_t> without_classes = dims;
  if (dims.size() >= 2) without_classes.erase(without_classes.begin() + 1);
  if (dims.size() < 2 || without_classes != labels.dims()) {
    throw Error(
        fmt::format("scores {} and labels {} do not belong together: scores have the "
                    "classes in dimension 1 beside those of labels",
                    to_string(batch.scores.type()), to_string(labels.type())));
  }
  const int64_t classes = dims[1];
  const int64_t inner = dims[0] == 0 ? 1 : labels.size() / dims[0];
  with_numbers(batch.scores, [&]<typename T>(std::span<const T> scores) {
    for (int64_t i = 0; i < labels.size(); ++i) {
      const int64_t label = labels.integer(i);
      if (label == batch.how.ignored) continue;
      const T* first = scores.data() + (i / inner) * classes * inner + i % inner;
      visit(label, ClassScores<T>{first, inner, classes});
    }
  });
}

/// Calls visit(label, prediction) for each element, both doubles.
template <typename Visit>
void for_each_pair(const Compared& batch, Visit visit) {
  if (batch.scores.dims() != batch.labels.dims()) {
    throw Error(fmt::format("predictions {} and labels {} differ in their shapes",
                            to_string(batch.scores.type()), to_string(batch.labels.type())));
  }
  with_numbers(batch.scores, [&](auto scores) {
    with_numbers(batch.labels, [&](auto labels) {
      for (size_t i = 0; i < scores.size(); ++i) {
        visit(static_cast<double>(labels[i]), static_cast<double>(scores[i]));
      }
    });
  });
}

/// The same for a binary task, in which labels are 0 and 1; gives what is wrong.
template <typename Visit>
WhyNot for_each_binary(const Compared& batch, Visit visit) {
  WhyNot why_not = WhyNot::none;
  for_each_pair(batch, [&](double label, double score) {
    if (label != 0 && label != 1) {
      why_not = WhyNot::soft_labels;
    } else if (std::isnan(score)) {
      why_not = WhyNot::not_finite;
    } else {
      visit(label == 1 ? 1 : 0, score);
    }
  });
  return why_not;
}

/// Throws Error where a label is none of the classes.
inline void require_class(int64_t label, int64_t classes) {
  if (label >= 0 && label < classes) return;
  throw Error(
      fmt::format("label {} is none of the {} classes that the model scores", label, classes),
      ErrorCode::data);
}

inline void note_why_not(WhyNot found, WhyNot& why_not) {
  if (why_not == WhyNot::none) why_not = found;
}

}  // namespace onward
