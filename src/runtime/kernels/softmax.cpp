#include <cmath>

#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/softmax_rows.h"

namespace onward {
namespace {

Reason refuses_rows(const Node& node) {
  const DType dtype = node.output(0)->type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  const auto dims = *static_dims(*node.input(0));
  const int64_t axis = node.int_or("axis", -1);
  const auto rank = static_cast<int64_t>(dims.size());
  if (axis != -1 && axis != rank - 1) return "not along the last axis";
  return {};
}

template <typename T>
void softmax_row(const T* x, T* y, int64_t n) {
  const SoftmaxRows<T>& rows = softmax_rows<T>();
  const T sum = rows.exponentials(x, y, rows.largest(x, n), n);
  rows.scale(y, y, T(1) / sum, n);
}

template <typename T>
void log_softmax_row(const T* x, T* y, int64_t n) {
  const SoftmaxRows<T>& rows = softmax_rows<T>();
  const T largest = rows.largest(x, n);
  rows.subtract(x, y, largest, std::log(rows.sum(x, largest, n)), n);
}

template <bool Log, typename T>
void plan_rows(Site& site) {
  const auto dims = site.input_dims(0);
  const int64_t n = dims.empty() ? 1 : dims.back();
  const int64_t rows = n == 0 ? 0 : checked_element_count(dims) / n;
  const SlotIndex x = site.input(0), y = site.output(0);
  site.action([=](const Run& run) {
    parallel_for(rows, static_cast<double>(n) * 2, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const T* from = run.at<T>(x) + i * n;
        T* to = run.at<T>(y) + i * n;
        Log ? log_softmax_row(from, to, n) : softmax_row(from, to, n);
      }
    });
  });
}

template <bool Log>
void make_rows(Site& site) {
  site.dtype() == DType::f32 ? plan_rows<Log, float>(site) : plan_rows<Log, double>(site);
}

constexpr KernelChoice kSoftmaxChoices[] = {
    {"LogSoftmax", "rows", refuses_rows, make_rows<true>},
    {"Softmax", "rows", refuses_rows, make_rows<false>},
};

}  // namespace

std::span<const KernelChoice> softmax_choices() { return kSoftmaxChoices; }

}  // namespace onward
