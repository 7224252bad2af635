// Layer normalization, row by row: a row stays in the first cache while it is read again. The way
// back adds up the gradients of scale and bias on the same walk.

#include <algorithm>
#include <cmath>

#include "ir/rewrite.h"
#include "runtime/kernel.h"
#include "runtime/norm_rows.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

using Dims = std::span<const int64_t>;

/// A tensor as rows: what lies before `axis`, and what lies from it on.
struct Rows {
  int64_t count = 1, size = 1;
};

size_t first_axis(const Node& node, Dims dims) {
  const int64_t axis = node.int_or("axis", -1);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
}

Rows rows_of(const Node& node, const Value& x) {
  const auto dims = *static_dims(x);
  const size_t first = first_axis(node, dims);
  return {.count = checked_element_count(std::span(dims).first(first)),
          .size = checked_element_count(std::span(dims).subspan(first))};
}

Dims without_leading_ones(Dims dims) {
  while (!dims.empty() && dims.front() == 1) dims = dims.subspan(1);
  return dims;
}

/// Whether every row takes the elements of `value` as they lie. As many elements are not enough: a
/// column has one for each row of a square.
bool is_one_row(const Value& value, const Node& node, const Value& x) {
  const auto own = *static_dims(value), dims = *static_dims(x);
  const Dims row = Dims(dims).subspan(first_axis(node, dims));
  return std::ranges::equal(without_leading_ones(own), without_leading_ones(row));
}

Reason refuses_layer_norm(const Node& node) {
  const bool back = node.op == "LayerNormGrad";
  const Value& x = *node.input(back ? 1 : 0);
  const DType dtype = x.type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  for (const Value* input : node.inputs()) {
    if (input && input->type.dtype != dtype) return "types are mixed";
  }
  for (const auto& output : node.outputs()) {
    if (output && output->type.dtype != dtype) return "the statistics are of another type";
  }
  const Rows rows = rows_of(node, x);
  if (rows.count == 0 || rows.size == 0) return "no elements";
  const size_t scale = back ? 2 : 1;
  for (const size_t input : {scale, scale + 1}) {
    if (node.input(input) && !is_one_row(*node.input(input), node, x)) {
      return "scale or bias is not a row";
    }
  }
  return {};
}

template <typename T>
struct Statistics {
  T mean, inverse;

  /// In two walks over a row, so that nothing cancels.
  Statistics(const T* x, int64_t n, T epsilon)
      : mean(norm_rows<T>().row_sum(x, n) / static_cast<T>(n)),
        inverse(T(1) /
                std::sqrt(norm_rows<T>().row_squares(x, mean, n) / static_cast<T>(n) + epsilon)) {}
  Statistics(T saved_mean, T saved_inverse) : mean(saved_mean), inverse(saved_inverse) {}
};

constexpr double kRowCost = 0.6;  // nanoseconds an element

template <typename T>
T epsilon_of(const Node& node) {
  return static_cast<T>(node.float_or("epsilon", 1e-5F));
}

SlotIndex given_input(Site& site, size_t index) {
  return site.has_input(index) ? site.input(index) : -1;
}

/// The slot of an output that somebody reads, or -1.
SlotIndex wanted_output(Site& site, size_t index) {
  const bool read = site.has_output(index) && is_needed(*site.node().output(index));
  return read ? site.output(index) : -1;
}

template <typename T>
void plan_layer_norm(Site& site) {
  const Rows rows = rows_of(site.node(), *site.node().input(0));
  const T epsilon = epsilon_of<T>(site.node());
  const SlotIndex x = site.input(0), scale = site.input(1), bias = given_input(site, 2);
  const SlotIndex y = site.output(0), mean = wanted_output(site, 1),
                  inverse = wanted_output(site, 2);
  site.action([=](const Run& run) {
    const NormRows<T>& functions = norm_rows<T>();
    const T* shift = bias < 0 ? nullptr : run.at<T>(bias);
    const double cost = kRowCost * static_cast<double>(rows.size);
    parallel_for(rows.count, cost, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        const T* from = run.at<T>(x) + row * rows.size;
        const Statistics<T> of_row(from, rows.size, epsilon);
        functions.row_normalize(from, run.at<T>(y) + row * rows.size, of_row.mean, of_row.inverse,
                                run.at<T>(scale), shift, rows.size);
        if (mean >= 0) run.at<T>(mean)[row] = of_row.mean;
        if (inverse >= 0) run.at<T>(inverse)[row] = of_row.inverse;
      }
    });
  });
}

void make_layer_norm(Site& site) {
  site.dtype() == DType::f32 ? plan_layer_norm<float>(site) : plan_layer_norm<double>(site);
}

/// The sum of `count` vectors that lie one after another, each `step` further.
template <typename T>
void add_up(const T* vectors, int64_t count, int64_t step, T* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t v = 0; v < count; ++v) sum += static_cast<double>(vectors[v * step + i]);
    to[i] = static_cast<T>(sum);
  }
}

// LayerNormGrad(dy, x, scale, bias, saved mean, saved inverse deviation)
template <typename T>
void plan_layer_norm_grad(Site& site) {
  const Rows rows = rows_of(site.node(), *site.node().input(1));
  const T epsilon = epsilon_of<T>(site.node());
  const SlotIndex dy = site.input(0), x = site.input(1), scale = site.input(2),
                  mean = given_input(site, 4), inverse = given_input(site, 5);
  const SlotIndex dx = wanted_output(site, 0), dscale = wanted_output(site, 1),
                  dbias = wanted_output(site, 2);
  // Rows are added up in blocks whose number depends on the shape alone, so that results do not
  // vary with the threads.
  const int64_t blocks =
      std::clamp<int64_t>(rows.count / 512, std::min<int64_t>(rows.count, 16), 64);
  const SlotIndex partial = site.scratch(static_cast<size_t>(2 * blocks * rows.size) * sizeof(T));
  site.action([=](const Run& run) {
    const NormRows<T>& functions = norm_rows<T>();
    const int64_t n = rows.size;
    const double cost =
        2 * kRowCost * static_cast<double>(rows.count * n) / static_cast<double>(blocks);
    parallel_for(blocks, cost, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) {
        T *scales = run.at<T>(partial) + 2 * block * n, *shifts = scales + n;
        std::fill_n(scales, 2 * n, T(0));
        const int64_t end = rows.count * (block + 1) / blocks;
        for (int64_t row = rows.count * block / blocks; row < end; ++row) {
          const T *from = run.at<T>(x) + row * n, *gradient = run.at<T>(dy) + row * n;
          const Statistics<T> of_row =
              mean >= 0 ? Statistics<T>(run.at<T>(mean)[row], run.at<T>(inverse)[row])
                        : Statistics<T>(from, n, epsilon);
          auto sums = functions.row_products(gradient, from, of_row.mean, of_row.inverse,
                                             run.at<T>(scale), scales, shifts, n);
          if (dx < 0) continue;
          sums.g /= static_cast<T>(n);
          sums.g_xhat /= static_cast<T>(n);
          functions.row_back(gradient, from, run.at<T>(dx) + row * n, of_row.mean, of_row.inverse,
                             run.at<T>(scale), sums, n);
        }
      }
    });
    const T* parts = run.at<T>(partial);
    if (dscale >= 0) add_up(parts, blocks, 2 * n, run.at<T>(dscale), n);
    if (dbias >= 0) add_up(parts + n, blocks, 2 * n, run.at<T>(dbias), n);
  });
}

void make_layer_norm_grad(Site& site) {
  site.dtype() == DType::f32 ? plan_layer_norm_grad<float>(site)
                             : plan_layer_norm_grad<double>(site);
}

constexpr KernelChoice kLayerNormalizationChoices[] = {
    {"LayerNormalization", "rows", refuses_layer_norm, make_layer_norm},
    {"LayerNormalization", "rows", refuses_layer_norm, make_layer_norm, "onward"},
    {"LayerNormGrad", "rows", refuses_layer_norm, make_layer_norm_grad, "onward"},
};

}  // namespace

std::span<const KernelChoice> layer_normalization_choices() { return kLayerNormalizationChoices; }

}  // namespace onward
