// Sums, means, largest and smallest elements over axes, and the sum over broadcast dimensions.

#include <algorithm>
#include <limits>

#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/rows.h"

namespace onward {
namespace {

/// Axes in runs: a tensor as [outer, reduced, inner], each a product of neighbouring dimensions.
struct Runs {
  int64_t outer = 1, reduced = 1, inner = 1;
};

/// Nothing where the reduced axes are not neighbours.
std::optional<Runs> as_runs(std::span<const int64_t> dims, const std::vector<bool>& reduced) {
  Runs runs;
  size_t d = 0;
  const auto skip_ones = [&](size_t at) { return dims[at] == 1; };
  for (; d < dims.size() && (!reduced[d] || skip_ones(d)); ++d) runs.outer *= dims[d];
  for (; d < dims.size() && (reduced[d] || skip_ones(d)); ++d) runs.reduced *= dims[d];
  for (; d < dims.size() && (!reduced[d] || skip_ones(d)); ++d) runs.inner *= dims[d];
  return d == dims.size() ? std::optional(runs) : std::nullopt;
}

bool is_global_pool(const Node& node) {
  return node.op == "GlobalAveragePool" || node.op == "GlobalMaxPool";
}

/// Which axes a node reduces: those of its input 1, or of a SumTo those that its shape has not.
std::vector<bool> reduced_axes(const Node& node) {
  const auto dims = *static_dims(*node.input(0));
  std::vector<bool> reduced(dims.size(), false);
  if (node.op == "SumTo") {
    const auto to = *static_dims(*node.output(0));
    const size_t missing = dims.size() - to.size();
    for (size_t d = 0; d < dims.size(); ++d) {
      reduced[d] = d < missing || (to[d - missing] == 1 && dims[d] != 1);
    }
    return reduced;
  }
  if (is_global_pool(node)) {
    std::fill(reduced.begin() + 2, reduced.end(), true);
    return reduced;
  }
  const Tensor* axes = node.input(1) ? node.input(1)->tensor() : nullptr;
  if (!axes || axes->size() == 0) {
    return std::vector<bool>(dims.size(), node.int_or("noop_with_empty_axes", 0) == 0);
  }
  for (const int64_t axis : axes->integers()) {
    reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis)] = true;
  }
  return reduced;
}

Reason refuses_reduction(const Node& node) {
  const DType dtype = node.output(0)->type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  if (node.op != "SumTo" && node.input(1) &&
      (!node.input(1)->tensor() || node.input(1)->is_input())) {
    return "axes are not constant";
  }
  const auto dims = *static_dims(*node.input(0));
  if (checked_element_count(dims) == 0) return "no elements";
  const auto reduced = reduced_axes(node);
  if (as_runs(dims, reduced)) return {};
  // The sum over all but the channels: two runs, or one where channels are last.
  if (node.op == "SumTo" && dims.size() >= 3 && !reduced[1] &&
      std::ranges::count(reduced, false) == 1) {
    return {};
  }
  return "axes that are not neighbours";
}

template <typename T>
struct Add {
  static constexpr T kStart = T(0);
  static T apply(T a, T b) { return a + b; }
  static void row(T* sum, const T* x, int64_t n) { row_functions<T>().add(sum, x, n); }
};
template <typename T>
struct Largest {
  static constexpr T kStart = -std::numeric_limits<T>::infinity();
  static T apply(T a, T b) { return a != a || a > b ? a : b; }
  static void row(T* best, const T* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) best[i] = apply(best[i], x[i]);
  }
};

template <typename T>
struct Smallest {
  static constexpr T kStart = std::numeric_limits<T>::infinity();
  static T apply(T a, T b) { return a != a || a < b ? a : b; }
  static void row(T* best, const T* x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) best[i] = apply(best[i], x[i]);
  }
};

/// Sixteen chains of additions, so that they do not wait for one another.
template <typename T, typename F>
T reduce_row(const T* x, int64_t n) {
  constexpr int64_t kChains = 16;
  T chains[kChains];
  std::fill_n(chains, kChains, F::kStart);
  int64_t i = 0;
  for (; i + kChains <= n; i += kChains) {
    for (int64_t c = 0; c < kChains; ++c) chains[c] = F::apply(chains[c], x[i + c]);
  }
  T result = F::kStart;
  for (; i < n; ++i) result = F::apply(result, x[i]);
  for (const T chain : chains) result = F::apply(result, chain);
  return result;
}

/// Rows are added up in blocks whose number does not depend on the threads, so that the result
/// does not either.
constexpr int64_t kPartialSums = 16;

template <typename T, typename F>
void reduce(const T* x, T* y, const Runs& runs, T* partial, T divisor) {
  if (runs.inner == 1) {
    parallel_for(runs.outer, static_cast<double>(runs.reduced) * 0.2,
                 [&](int64_t first, int64_t last) {
                   for (int64_t i = first; i < last; ++i) {
                     y[i] = reduce_row<T, F>(x + i * runs.reduced, runs.reduced) / divisor;
                   }
                 });
    return;
  }
  const int64_t n = runs.inner;
  for (int64_t o = 0; o < runs.outer; ++o) {
    const T* from = x + o * runs.reduced * n;
    T* to = y + o * n;
    const int64_t blocks = std::min(kPartialSums, runs.reduced);
    std::fill_n(partial, blocks * n, F::kStart);
    const double cost = static_cast<double>(runs.reduced * n) * 0.2 / static_cast<double>(blocks);
    parallel_for(blocks, cost, [&](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        T* sum = partial + b * n;
        for (int64_t r = runs.reduced * b / blocks; r < runs.reduced * (b + 1) / blocks; ++r) {
          F::row(sum, from + r * n, n);
        }
      }
    });
    std::copy_n(partial, n, to);
    for (int64_t b = 1; b < blocks; ++b) {
      for (int64_t i = 0; i < n; ++i) to[i] = F::apply(to[i], partial[b * n + i]);
    }
    if (divisor != T(1)) {
      for (int64_t i = 0; i < n; ++i) to[i] /= divisor;
    }
  }
}

bool is_mean(const Node& node) { return node.op == "ReduceMean" || node.op == "GlobalAveragePool"; }

template <typename T>
void plan_reduction(Site& site) {
  const Node& node = site.node();
  const auto dims = site.input_dims(0);
  const auto reduced = reduced_axes(node);
  auto runs = as_runs(dims, reduced);
  Layout layout = Layout::plain;
  const bool per_channel =
      dims.size() >= 3 && !reduced[1] && std::ranges::count(reduced, false) == 1;
  if (per_channel && (!runs || site.layout_of(0) == Layout::channels_last)) {
    layout = Layout::channels_last;
    runs = Runs{.outer = 1, .reduced = checked_element_count(dims) / dims[1], .inner = dims[1]};
  }
  if (is_global_pool(node) && site.layout_of(0) == Layout::channels_last) {
    layout = Layout::channels_last;
    runs = Runs{.outer = dims[0], .reduced = runs->reduced, .inner = dims[1]};
  }
  const SlotIndex x = site.input(0, layout), y = site.output(0);
  const SlotIndex partial =
      site.scratch(static_cast<size_t>(kPartialSums * runs->inner) * sizeof(T));
  const T divisor = is_mean(node) ? static_cast<T>(runs->reduced) : T(1);
  const bool is_largest = node.op == "ReduceMax" || node.op == "GlobalMaxPool";
  const auto function = is_largest               ? reduce<T, Largest<T>>
                        : node.op == "ReduceMin" ? reduce<T, Smallest<T>>
                                                 : reduce<T, Add<T>>;
  site.action([=, runs = *runs](const Run& run) {
    function(run.at<T>(x), run.at<T>(y), runs, run.at<T>(partial), divisor);
  });
}

void make_reduction(Site& site) {
  site.dtype() == DType::f32 ? plan_reduction<float>(site) : plan_reduction<double>(site);
}

constexpr KernelChoice kReductionChoices[] = {
    {"GlobalAveragePool", "runs", refuses_reduction, make_reduction},
    {"GlobalMaxPool", "runs", refuses_reduction, make_reduction},
    {"ReduceMax", "runs", refuses_reduction, make_reduction},
    {"ReduceMin", "runs", refuses_reduction, make_reduction},
    {"ReduceMean", "runs", refuses_reduction, make_reduction},
    {"ReduceSum", "runs", refuses_reduction, make_reduction},
    {"SumTo", "runs", refuses_reduction, make_reduction, "onward"},
};

}  // namespace

std::span<const KernelChoice> reduction_choices() { return kReductionChoices; }

}  // namespace onward
