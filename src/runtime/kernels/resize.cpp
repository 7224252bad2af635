// Resize and its backward, one dimension after the other: each row of the result is a weighted sum
// of a few rows of the input.

#include <algorithm>

#include "ops/resize_axes.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"
#include "runtime/reorder.h"
#include "runtime/rows.h"

namespace onward {
namespace {

constexpr double kTapCost = 0.3;  // nanoseconds for a number times its weight
constexpr int64_t kShortRow = 8;  // elements for which a call is not worth it

/// A dimension as a sparse matrix: row r of the result is the sum of weights[k] times row
/// sources[k], for k from begins[r] to begins[r + 1].
template <typename T>
struct Taps {
  size_t axis = 0;
  int64_t input = 0, output = 0;
  std::vector<int64_t> begins, sources;
  std::vector<T> weights;

  double ratio() const { return static_cast<double>(output) / static_cast<double>(input); }
};

template <typename T>
Taps<T> forward_taps(const ResizedAxis& axis) {
  Taps<T> taps{.axis = axis.axis, .input = axis.input, .output = axis.output, .begins = {0}};
  for (int64_t at = 0; at < axis.output; ++at) {
    for (int64_t k = at * axis.taps; k < (at + 1) * axis.taps && !axis.is_outside(at); ++k) {
      taps.sources.push_back(axis.indices[static_cast<size_t>(k)]);
      taps.weights.push_back(static_cast<T>(axis.weights[static_cast<size_t>(k)]));
    }
    taps.begins.push_back(static_cast<int64_t>(taps.sources.size()));
  }
  return taps;
}

/// The transposed matrix, so that each row of dx is written by one thread, in one order.
template <typename T>
Taps<T> backward_taps(const ResizedAxis& axis) {
  const Taps<T> forward = forward_taps<T>(axis);
  Taps<T> taps{.axis = axis.axis, .input = axis.output, .output = axis.input};
  taps.begins.assign(static_cast<size_t>(axis.input) + 1, 0);
  for (const int64_t source : forward.sources) ++taps.begins[static_cast<size_t>(source) + 1];
  for (size_t i = 1; i < taps.begins.size(); ++i) taps.begins[i] += taps.begins[i - 1];
  taps.sources.resize(forward.sources.size());
  taps.weights.resize(forward.weights.size());
  std::vector<int64_t> next(taps.begins.begin(), taps.begins.end() - 1);
  for (int64_t at = 0; at < axis.output; ++at) {
    const auto row = static_cast<size_t>(at);
    for (int64_t k = forward.begins[row]; k < forward.begins[row + 1]; ++k) {
      const auto tap = static_cast<size_t>(k);
      const auto to = static_cast<size_t>(next[static_cast<size_t>(forward.sources[tap])]++);
      taps.sources[to] = at;
      taps.weights[to] = forward.weights[tap];
    }
  }
  return taps;
}

template <typename T>
void sum_rows(const Taps<T>& taps, size_t row, const T* x, T* y, int64_t n) {
  const auto begin = static_cast<size_t>(taps.begins[row]);
  const auto end = static_cast<size_t>(taps.begins[row + 1]);
  if (end - begin == 2) {
    const T a = taps.weights[begin], b = taps.weights[begin + 1];
    const T *first = x + taps.sources[begin] * n, *second = x + taps.sources[begin + 1] * n;
    for (int64_t i = 0; i < n; ++i) y[i] = a * first[i] + b * second[i];
    return;
  }
  std::fill_n(y, n, T(0));
  for (size_t k = begin; k < end; ++k) {
    const T* source = x + taps.sources[k] * n;
    if (n < kShortRow) {
      for (int64_t i = 0; i < n; ++i) y[i] += taps.weights[k] * source[i];
    } else {
      row_functions<T>().add_scaled(y, source, taps.weights[k], n);
    }
  }
}

/// x as [outer, taps.input, inner] to y as [outer, taps.output, inner].
template <typename T>
void resize_along(const Taps<T>& taps, const T* x, T* y, int64_t outer, int64_t inner) {
  const double taps_a_row =
      static_cast<double>(taps.sources.size()) / static_cast<double>(taps.output);
  parallel_for(outer * taps.output, (1 + taps_a_row) * static_cast<double>(inner) * kTapCost,
               [&](int64_t first, int64_t last) {
                 for (int64_t r = first; r < last; ++r) {
                   sum_rows(taps, static_cast<size_t>(r % taps.output),
                            x + r / taps.output * taps.input * inner, y + r * inner, inner);
                 }
               });
}

/// All dimensions: those that shrink first, so that no step holds more than its ends do. Of those
/// that grow alike the last one is first, while rows are few.
template <typename T>
void resize_all(std::vector<Taps<T>> all, std::vector<int64_t> dims, const T* x, T* y,
                std::span<T* const> between) {
  std::ranges::sort(all, [](const Taps<T>& a, const Taps<T>& b) {
    return a.ratio() < b.ratio() || (a.ratio() == b.ratio() && a.axis > b.axis);
  });
  if (all.empty()) std::copy_n(x, checked_element_count(dims), y);
  for (size_t i = 0; i < all.size(); ++i) {
    const Taps<T>& taps = all[i];
    const std::span<const int64_t> known(dims);
    T* to = i + 1 == all.size() ? y : between[i % between.size()];
    resize_along(taps, x, to, checked_element_count(known.first(taps.axis)),
                 checked_element_count(known.subspan(taps.axis + 1)));
    dims[taps.axis] = taps.output;
    x = to;
  }
}

/// What lies outside of the region holds a number of its own.
template <typename T>
void fill_outside(const std::vector<ResizedAxis>& axes, std::span<const int64_t> dims, T* y,
                  T value) {
  for (const ResizedAxis& axis : axes) {
    const int64_t outer = checked_element_count(dims.first(axis.axis));
    const int64_t inner = checked_element_count(dims.subspan(axis.axis + 1));
    for (int64_t at = 0; at < axis.output; ++at) {
      if (!axis.is_outside(at)) continue;
      for (int64_t o = 0; o < outer; ++o) {
        std::fill_n(y + (o * axis.output + at) * inner, inner, value);
      }
    }
  }
}

Reason refuses_resize(const Node& node) {
  const DType dtype = node.output(0)->type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  const int64_t read = checked_element_count(*static_dims(*node.input(0)));
  const int64_t written = checked_element_count(*static_dims(*node.output(0)));
  return read == 0 || written == 0 ? "no elements" : "";
}

/// An operand that decides on the weights.
struct Operand {
  SlotIndex slot = -1;
  DType dtype = DType::undefined;
  std::vector<int64_t> dims = {};

  Tensor tensor(const Run& run) const {
    const auto bytes = packed_bytes(dtype, checked_element_count(dims)).value();
    return Tensor::view(dtype, dims, {run.at<std::byte>(slot), static_cast<size_t>(bytes)},
                        nullptr);
  }
};

/// The weights are found anew in each run: they take little next to what they are for, and a region
/// may be computed.
template <typename T>
void plan_resize(Site& site, bool backward) {
  const Node& node = site.node();
  const std::vector<int64_t> x_dims = site.input_dims(0), y_dims = site.output_dims(0);
  const Layout layout = site.layout_of(0);
  const size_t rank = x_dims.size(), first = backward ? 2 : 1;
  const SlotIndex x = site.input(0, layout), y = site.output(0, layout);
  std::vector<Operand> operands(3);
  for (size_t i = 0; i < 3; ++i) {
    if (!site.has_input(first + i)) continue;
    operands[i] = {site.input(first + i), node.input(first + i)->type.dtype,
                   site.input_dims(first + i)};
  }
  const int64_t most = std::max(checked_element_count(x_dims), checked_element_count(y_dims));
  std::vector<SlotIndex> scratches;
  for (size_t i = 1; i < std::min<size_t>(rank, 3); ++i) {
    scratches.push_back(site.scratch(static_cast<size_t>(most) * sizeof(T)));
  }
  const auto outside = static_cast<T>(node.float_or("extrapolation_value", 0));
  site.action([=, &node](const Run& run) {
    std::vector<Tensor> tensors(3);
    const Tensor* given[3] = {};
    for (size_t i = 0; i < 3; ++i) {
      if (operands[i].slot < 0) continue;
      tensors[i] = operands[i].tensor(run);
      given[i] = &tensors[i];
    }
    auto axes = resized_axes(node, backward ? y_dims : x_dims, {given[0], given[1], given[2]});
    std::vector<Taps<T>> taps;
    for (ResizedAxis& axis : axes) {
      if (layout == Layout::channels_last && axis.axis > 0) {
        axis.axis = axis.axis == 1 ? rank - 1 : axis.axis - 1;
      }
      taps.push_back(backward ? backward_taps<T>(axis) : forward_taps<T>(axis));
    }
    std::vector<T*> between;
    for (const SlotIndex slot : scratches) between.push_back(run.at<T>(slot));
    resize_all<T>(std::move(taps), laid_out(x_dims, layout), run.at<T>(x), run.at<T>(y), between);
    if (!backward) fill_outside(axes, laid_out(y_dims, layout), run.at<T>(y), outside);
  });
}

void make_resize(Site& site) {
  site.dtype() == DType::f32 ? plan_resize<float>(site, false) : plan_resize<double>(site, false);
}

void make_resize_grad(Site& site) {
  site.dtype() == DType::f32 ? plan_resize<float>(site, true) : plan_resize<double>(site, true);
}

constexpr KernelChoice kResizeChoices[] = {
    {"Resize", "by dimensions", refuses_resize, make_resize},
    {"ResizeGrad", "by dimensions", refuses_resize, make_resize_grad, "onward"},
};

}  // namespace

std::span<const KernelChoice> resize_choices() { return kResizeChoices; }

}  // namespace onward
