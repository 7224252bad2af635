// Losses over classes and their backward passes, row by row: the classes of a label lie side by
// side, in images with their channels last.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/rewrite.h"
#include "onward/error.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/passes/fast_forms.h"
#include "runtime/softmax_rows.h"

namespace onward {
namespace {

constexpr double kLossCost = 2;  // nanoseconds an element

enum class Reduction : uint8_t { none, sum, mean };

Reduction reduction_of(const Node& node) {
  const std::string name = node.string_or("reduction", "mean");
  return name == "none" ? Reduction::none : name == "sum" ? Reduction::sum : Reduction::mean;
}

/// Labels with what each counts.
template <typename T>
class Labels {
 public:
  Labels(Site& site, size_t scores)
      : classes_(site.input_dims(scores)[1]),
        count_(checked_element_count(site.input_dims(scores)) / classes_),
        ignored_(site.node().get<int64_t>("ignore_index")
                     ? std::optional(*site.node().get<int64_t>("ignore_index"))
                     : std::nullopt),
        wide_(site.node().input(scores + 1)->type.dtype == DType::i64),
        labels_(site.input(scores + 1)),
        weights_(site.has_input(scores + 2) ? site.input(scores + 2) : -1) {}

  int64_t classes() const { return classes_; }
  int64_t count() const { return count_; }

  int64_t label(const Run& run, int64_t i) const {
    return wide_ ? run.at<int64_t>(labels_)[i] : run.at<int32_t>(labels_)[i];
  }
  bool is_ignored(int64_t label) const { return label == ignored_; }
  T weight(const Run& run, int64_t label) const {
    if (is_ignored(label)) return T(0);
    return weights_ < 0 ? T(1) : run.at<T>(weights_)[label];
  }

  /// Throws where a label is no class; gives the sum of the weights.
  T checked_total(const Run& run) const {
    T total = 0;
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t at = label(run, i);
      if (!is_ignored(at) && (at < 0 || at >= classes_)) {
        throw Error(fmt::format("label {} is none of {} classes", at, classes_));
      }
      total += weight(run, at);
    }
    return total;
  }

 private:
  int64_t classes_, count_;
  std::optional<int64_t> ignored_;
  bool wide_;
  SlotIndex labels_, weights_;
};

Layout layout_for(const Site& site, size_t input) {
  return site.input_dims(input).size() > 2 ? Layout::channels_last : Layout::plain;
}

/// Puts the losses of the labels together, always in the same order.
template <typename T>
void reduce(const T* each, int64_t count, Reduction reduction, T total_weight, T* loss) {
  if (reduction == Reduction::none) {
    std::copy_n(each, count, loss);
    return;
  }
  T sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += each[i];
  *loss = reduction == Reduction::mean ? sum / total_weight : sum;
}

// SoftmaxCrossEntropyLoss(scores, labels, weights) gives the loss and log_prob; with the passes'
// addition the probabilities instead, so that the backward has no exponentials.
template <typename T>
void plan_softmax_cross_entropy(Site& site) {
  const Layout layout = layout_for(site, 0);
  const SlotIndex x = site.input(0, layout);
  const Labels<T> labels(site, 0);
  const Reduction reduction = reduction_of(site.node());
  const bool saves = site.has_output(1) && is_needed(*site.node().output(1));
  const bool probabilities = site.node().domain == "onward";
  const SlotIndex loss = site.output(0), saved = saves ? site.output(1, layout) : -1;
  const SlotIndex scratch = site.scratch(static_cast<size_t>(labels.count()) * sizeof(T));
  site.action([=](const Run& run) {
    const SoftmaxRows<T>& rows = softmax_rows<T>();
    const int64_t n = labels.classes();
    const T total = labels.checked_total(run);
    T* each = run.at<T>(scratch);
    const double cost = kLossCost * static_cast<double>(n);
    parallel_for(labels.count(), cost, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const T* from = run.at<T>(x) + i * n;
        T* to = saves ? run.at<T>(saved) + i * n : nullptr;
        const T largest = rows.largest(from, n);
        const T sum = saves && probabilities ? rows.exponentials(from, to, largest, n)
                                             : rows.sum(from, largest, n);
        const T log_sum = std::log(sum);
        if (saves && probabilities) rows.scale(to, to, T(1) / sum, n);
        if (saves && !probabilities) rows.subtract(from, to, largest, log_sum, n);
        const int64_t label = labels.label(run, i);
        each[i] = labels.is_ignored(label)
                      ? T(0)
                      : ((largest - from[label]) + log_sum) * labels.weight(run, label);
      }
    });
    reduce(each, labels.count(), reduction, total, run.at<T>(loss));
  });
}

template <typename T>
void plan_nll(Site& site) {
  const Layout layout = layout_for(site, 0);
  const SlotIndex x = site.input(0, layout);
  const Labels<T> labels(site, 0);
  const Reduction reduction = reduction_of(site.node());
  const SlotIndex loss = site.output(0);
  const SlotIndex scratch = site.scratch(static_cast<size_t>(labels.count()) * sizeof(T));
  site.action([=](const Run& run) {
    const T total = labels.checked_total(run);
    T* each = run.at<T>(scratch);
    for (int64_t i = 0; i < labels.count(); ++i) {
      const int64_t label = labels.label(run, i);
      each[i] = labels.is_ignored(label)
                    ? T(0)
                    : -run.at<T>(x)[i * labels.classes() + label] * labels.weight(run, label);
    }
    reduce(each, labels.count(), reduction, total, run.at<T>(loss));
  });
}

/// What a loss's backward makes of a row: exp(log_prob), the probabilities as they are, or nothing.
enum class Row : uint8_t { exponentials, as_it_is, zero };

template <typename T>
void plan_grad(Site& site, Row row) {
  const Layout layout = layout_for(site, 1);
  const SlotIndex dloss = site.input(0), of = row == Row::zero ? -1 : site.input(1, layout);
  const Labels<T> labels(site, 1);
  const Reduction reduction = reduction_of(site.node());
  const SlotIndex dx = site.output(0, layout);
  site.action([=](const Run& run) {
    const SoftmaxRows<T>& rows = softmax_rows<T>();
    const int64_t n = labels.classes();
    const T total = labels.checked_total(run);
    const double cost = kLossCost * static_cast<double>(n);
    parallel_for(labels.count(), cost, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t label = labels.label(run, i);
        T each = run.at<T>(dloss)[reduction == Reduction::none ? i : 0] * labels.weight(run, label);
        if (reduction == Reduction::mean) each /= total;
        T* to = run.at<T>(dx) + i * n;
        if (row == Row::zero) {
          std::fill_n(to, n, T(0) * each);
        } else if (row == Row::as_it_is) {
          rows.scale(run.at<T>(of) + i * n, to, each, n);
        } else {
          rows.scaled_exponentials(run.at<T>(of) + i * n, to, each, n);
        }
        if (!labels.is_ignored(label)) to[label] -= each;
      }
    });
  });
}

template <typename Body>
void as_float(Site& site, Body body) {
  site.dtype() == DType::f32 ? body(float{}) : body(double{});
}

void make_softmax_cross_entropy(Site& site) {
  as_float(site, [&]<typename T>(T) { plan_softmax_cross_entropy<T>(site); });
}
void make_nll(Site& site) {
  as_float(site, [&]<typename T>(T) { plan_nll<T>(site); });
}
void make_softmax_cross_entropy_grad(Site& site) {
  const bool probabilities = site.node().int_or("probabilities", 0) != 0;
  const Row row = probabilities ? Row::as_it_is : Row::exponentials;
  as_float(site, [&]<typename T>(T) { plan_grad<T>(site, row); });
}
void make_nll_grad(Site& site) {
  as_float(site, [&]<typename T>(T) { plan_grad<T>(site, Row::zero); });
}

constexpr KernelChoice kLossChoices[] = {
    {"NegativeLogLikelihoodLoss", "rows", refuses_class_loss, make_nll},
    {"NegativeLogLikelihoodGrad", "rows", refuses_class_loss, make_nll_grad, "onward"},
    {"SoftmaxCrossEntropyLoss", "rows", refuses_class_loss, make_softmax_cross_entropy},
    {"SoftmaxCrossEntropyLoss", "rows", refuses_class_loss, make_softmax_cross_entropy, "onward"},
    {"SoftmaxCrossEntropyGrad", "rows", refuses_class_loss, make_softmax_cross_entropy_grad,
     "onward"},
};

}  // namespace

std::span<const KernelChoice> loss_choices() { return kLossChoices; }

}  // namespace onward
