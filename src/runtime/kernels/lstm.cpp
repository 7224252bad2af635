// An LSTM over time. Examples do not depend on each other, so each thread takes some of them
// through all steps, and no thread waits for another: states and gates of a step stay in its
// caches, and the recurrent weights, packed once for all steps, in those that the threads share.

#include <algorithm>

#include "ir/rewrite.h"
#include "runtime/kernel.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/panel_product.h"
#include "runtime/lstm_rows.h"
#include "runtime/parallel.h"
#include "runtime/tile.h"

namespace onward {
namespace {

struct LstmSizes {
  int64_t steps, batch, hidden;
  bool reverse;

  /// Of all examples at one step.
  int64_t state() const { return batch * hidden; }
  int64_t gates() const { return 4 * state(); }
  /// The time of a step, counted in the direction in which the states go.
  int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
  /// Nanoseconds that an example takes one thread.
  double cost() const {
    const auto of_products = static_cast<double>(8 * hidden * hidden);
    return static_cast<double>(steps) *
           (product_cost(of_products) + 5 * static_cast<double>(hidden));
  }
};

LstmSizes lstm_sizes(const Node& node, size_t gates) {
  const auto dims = *static_dims(*node.input(gates));
  return {.steps = dims[0],
          .batch = dims[1],
          .hidden = dims[2] / 4,
          .reverse = node.int_or("reverse", 0) != 0};
}

/// The recurrent weights [4 hidden, hidden] as the right side of a product: transposed in the
/// forward, as they are in the backward.
struct RecurrentWeights {
  int64_t hidden;
  bool transposed;

  int64_t k() const { return transposed ? hidden : 4 * hidden; }
  int64_t columns() const { return transposed ? 4 * hidden : hidden; }
  /// In panels, for the products of panel_product.h.
  bool is_packed(DType dtype) const {
    return dtype == DType::f32 && has_avx2() && columns() % kPanel == 0;
  }
  size_t packed_bytes() const { return static_cast<size_t>(4 * hidden * hidden) * sizeof(float); }

  void pack(const float* from, float* to, int64_t first, int64_t last) const {
    for (int64_t panel = first; panel < last; ++panel) {
      float* packed = to + panel * k() * kPanel;
      for (int64_t row = 0; row < k(); ++row) {
        for (int64_t i = 0; i < kPanel; ++i) {
          const int64_t column = panel * kPanel + i;
          *packed++ = transposed ? from[column * hidden + row] : from[row * hidden + column];
        }
      }
    }
  }

  /// y = x w, or y += x w, for some rows; in one thread.
  void multiply(const float* x, const float* weights, float* y, int64_t rows, bool add) const {
    if (!is_packed(DType::f32)) return multiply_plain(x, weights, y, rows, add);
    PanelProduct{.rows = rows,
                 .k = k(),
                 .columns = columns(),
                 .a_row = k(),
                 .a_k = 1,
                 .b_panel = k() * kPanel,
                 .y_row = columns(),
                 .add = add}
        .run(x, weights, y);
  }
  void multiply(const double* x, const double* weights, double* y, int64_t rows, bool add) const {
    multiply_plain(x, weights, y, rows, add);
  }

 private:
  template <typename T>
  void multiply_plain(const T* x, const T* weights, T* y, int64_t rows, bool add) const {
    Product{.trans_b = transposed,
            .m = rows,
            .n = columns(),
            .k = k(),
            .beta = add ? 1.0 : 0.0,
            .in_team = true}
        .run(x, weights, y);
  }
};

/// The slot of the weights in the form in which they are multiplied.
SlotIndex recurrent_weights(Site& site, size_t input, const RecurrentWeights& weights) {
  if (!weights.is_packed(site.node().input(input)->type.dtype)) return site.input(input);
  const auto [from, to] = site.rearranged(input, weights.packed_bytes());
  const double cost = static_cast<double>(weights.k() * kPanel);
  site.before("recurrent weights in panels", {from}, {to},
              [weights, cost, from = from, to = to](const Run& run) {
                parallel_for(weights.columns() / kPanel, cost, [&](int64_t first, int64_t last) {
                  weights.pack(run.at<float>(from), run.at<float>(to), first, last);
                });
              });
  return to;
}

Reason refuses_lstm_steps(const Node& node) {
  const size_t gates = node.op == "LstmSteps" ? 0 : 3;
  const DType dtype = node.input(gates)->type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  const auto dims = *static_dims(*node.input(gates));
  if (std::ranges::find(dims, 0) != dims.end()) return "no elements";
  return {};
}

/// An output that is read, or memory that holds for one step at a time.
struct Kept {
  SlotIndex slot;
  bool at_all_steps;

  Kept(Site& site, size_t output, int64_t elements, size_t element)
      : slot(-1), at_all_steps(site.has_output(output) && is_needed(*site.node().output(output))) {
    slot =
        at_all_steps ? site.output(output) : site.scratch(static_cast<size_t>(elements) * element);
  }

  template <typename T>
  T* at(const Run& run, int64_t time, int64_t elements) const {
    return run.at<T>(slot) + (at_all_steps ? time * elements : 0);
  }
};

/// LstmSteps(gates, R, h0, c0); ops/lstm_steps.cpp has the formulas.
template <typename T>
void plan_lstm_steps(Site& site) {
  const LstmSizes sizes = lstm_sizes(site.node(), 0);
  const RecurrentWeights weights{.hidden = sizes.hidden, .transposed = true};
  const SlotIndex recurrent = recurrent_weights(site, 1, weights);
  const SlotIndex gates = site.input(0), first_h = site.input(2), first_c = site.input(3);
  const Kept all_h(site, 0, 2 * sizes.state(), sizeof(T)),
      activated(site, 3, sizes.gates(), sizeof(T)), cells(site, 4, 2 * sizes.state(), sizeof(T));
  const Kept last_h(site, 1, sizes.state(), sizeof(T)), last_c(site, 2, sizes.state(), sizeof(T));
  // Where only one step is kept, a state and the one before take turns.
  const auto state = [sizes](const Kept& kept, const Run& run, int64_t step) {
    return kept.at_all_steps ? kept.at<T>(run, sizes.time(step), sizes.state())
                             : run.at<T>(kept.slot) + step % 2 * sizes.state();
  };
  site.action([=](const Run& run) {
    const LstmRows<T>& rows = lstm_rows<T>();
    const int64_t n = sizes.hidden;
    parallel_for(sizes.batch, sizes.cost(), [&](int64_t first, int64_t last) {
      const int64_t begin = first * n, count = (last - first) * n;
      const T *h = run.at<T>(first_h), *c = run.at<T>(first_c);
      for (int64_t step = 0; step < sizes.steps; ++step) {
        const int64_t time = sizes.time(step);
        T* of_step = activated.at<T>(run, time, sizes.gates()) + 4 * begin;
        const T* given = run.at<T>(gates) + time * sizes.gates() + 4 * begin;
        if (of_step != given) std::copy_n(given, 4 * count, of_step);
        weights.multiply(h + begin, run.at<T>(recurrent), of_step, last - first, true);
        T *next_h = state(all_h, run, step), *next_c = state(cells, run, step);
        for (int64_t row = 0; row < last - first; ++row) {
          const int64_t at = begin + row * n;
          rows.step(of_step + 4 * row * n, c + at, next_c + at, next_h + at, n);
        }
        h = next_h;
        c = next_c;
      }
      std::copy_n(h + begin, count, run.at<T>(last_h.slot) + begin);
      std::copy_n(c + begin, count, run.at<T>(last_c.slot) + begin);
    });
  });
}

void make_lstm_steps(Site& site) {
  site.node().input(0)->type.dtype == DType::f32 ? plan_lstm_steps<float>(site)
                                                 : plan_lstm_steps<double>(site);
}

/// LstmStepsGrad(dy, dh, dc, activated, cells, c0, R), of which the first three may be left out.
template <typename T>
void plan_lstm_steps_grad(Site& site) {
  const LstmSizes sizes = lstm_sizes(site.node(), 3);
  const RecurrentWeights weights{.hidden = sizes.hidden, .transposed = false};
  const SlotIndex recurrent = recurrent_weights(site, 6, weights);
  const auto given = [&](size_t input) { return site.has_input(input) ? site.input(input) : -1; };
  const SlotIndex dy = given(0), last_dh = given(1), last_dc = given(2);
  const SlotIndex activated = site.input(3), cells = site.input(4), first_c = site.input(5);
  const Kept dgates(site, 0, sizes.gates(), sizeof(T)), dh(site, 1, sizes.state(), sizeof(T)),
      dc(site, 2, sizes.state(), sizeof(T));
  site.action([=](const Run& run) {
    const LstmRows<T>& rows = lstm_rows<T>();
    const int64_t n = sizes.hidden;
    parallel_for(sizes.batch, sizes.cost(), [&](int64_t first, int64_t last) {
      const int64_t begin = first * n, count = (last - first) * n;
      const auto begin_with = [&](SlotIndex from, T* to) {
        from < 0 ? std::fill_n(to, count, T(0)) : std::copy_n(run.at<T>(from) + begin, count, to);
      };
      T *of_h = run.at<T>(dh.slot) + begin, *of_c = run.at<T>(dc.slot) + begin;
      begin_with(last_dh, of_h);
      begin_with(last_dc, of_c);
      for (int64_t step = sizes.steps - 1; step >= 0; --step) {
        const int64_t time = sizes.time(step);
        if (dy >= 0) rows.add(run.at<T>(dy) + time * sizes.state() + begin, of_h, count);
        const T* of_step = run.at<T>(activated) + time * sizes.gates() + 4 * begin;
        const T* c = run.at<T>(cells) + time * sizes.state() + begin;
        const T* before = step == 0
                              ? run.at<T>(first_c) + begin
                              : run.at<T>(cells) + sizes.time(step - 1) * sizes.state() + begin;
        T* result = dgates.at<T>(run, time, sizes.gates()) + 4 * begin;
        for (int64_t row = 0; row < last - first; ++row) {
          const int64_t at = row * n;
          rows.back(of_step + 4 * at, before + at, c + at, of_h + at, of_c + at, result + 4 * at,
                    n);
        }
        weights.multiply(result, run.at<T>(recurrent), of_h, last - first, false);
      }
    });
  });
}

void make_lstm_steps_grad(Site& site) {
  site.node().input(3)->type.dtype == DType::f32 ? plan_lstm_steps_grad<float>(site)
                                                 : plan_lstm_steps_grad<double>(site);
}

constexpr KernelChoice kLstmChoices[] = {
    {"LstmSteps", "lstm", refuses_lstm_steps, make_lstm_steps, "onward"},
    {"LstmStepsGrad", "lstm", refuses_lstm_steps, make_lstm_steps_grad, "onward"},
};

}  // namespace

std::span<const KernelChoice> lstm_choices() { return kLstmChoices; }

}  // namespace onward
