#include "train/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "data/balance.h"
#include "data/image_reader.h"
#include "onward/error.h"
#include "train/frozen_part.h"
#include "train/interrupt.h"

namespace onward {
namespace {

/// Where data is to blame for a loss that is not finite: the first such number in a batch, which
/// may be one that the frozen part computed.
std::optional<std::string> find_not_finite(const TensorMap& batch, const Feeds& feeds,
                                           std::span<const int64_t> rows,
                                           const FrozenPart* frozen) {
  for (const auto& [name, tensor] : batch) {
    if (!is_float(tensor.dtype()) || tensor.dims().empty()) continue;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      const double number = tensor.number(i);
      if (std::isfinite(number)) continue;
      const auto row = static_cast<size_t>(i / (tensor.size() / tensor.dims()[0]));
      if (frozen && frozen->gives(name)) {
        return fmt::format("the frozen part of the model gives {} in '{}' for example {}", number,
                           name, feeds.place(rows[row]));
      }
      return fmt::format("the data is not finite: input '{}' holds {} in example {}", name, number,
                         feeds.place(rows[row]));
    }
  }
  return std::nullopt;
}

class Loop {
 public:
  Loop(Trainer& trainer, const Feeds& feeds, LoopState& state, const LoopOptions& options,
       Report& report)
      : trainer_(trainer), feeds_(feeds), state_(state), options_(options), report_(report) {}

  Ending run() {
    report_.begin({.examples = feeds_.size(),
                   .classes = feeds_.class_counts(),
                   .frozen = frozen_summary(),
                   .steps_per_epoch = steps_per_epoch(feeds_.size(), state_),
                   .epochs = options_.epochs,
                   .steps = options_.steps,
                   .first_step = state_.step,
                   .first_epoch = state_.epoch});
    while (!is_finished()) {
      if (const auto reason = early_end()) {
        report_.stopped(moment(), *reason);
        break;
      }
      if (Interrupt::requested()) return Ending::interrupted;
      step();
      const bool epoch_is_over = examples_left() == 0;
      if (epoch_is_over && end_epoch()) {
        keep();
        options_.on_best();
      }
      if (wants_checkpoint(epoch_is_over)) {
        save();
      } else if (epoch_is_over) {
        keep();
      }
    }
    keep();
    if (state_.position > 0) report_epoch();  // `steps` ended it on the way
    if (options_.checkpoints && saved_ != state_.step) save();
    return Ending::done;
  }

 private:
  bool is_finished() const {
    return (options_.epochs > 0 && state_.epoch >= options_.epochs) ||
           (options_.steps > 0 && state_.step >= options_.steps);
  }

  std::optional<FrozenSummary> frozen_summary() const {
    if (!options_.frozen) return std::nullopt;
    return options_.frozen->summary();
  }

  /// Why to end before that.
  std::optional<std::string> early_end() const {
    const uint64_t best = state_.best ? state_.best->epoch : 0;
    if (options_.patience && state_.position == 0 && state_.epoch - best >= *options_.patience) {
      const uint64_t since = state_.epoch - best;
      if (best == 0) return fmt::format("{} was NaN in {} epochs", options_.watched, since);
      return fmt::format("{} was best in epoch {}, and not better in {} epoch{} since",
                         options_.watched, best, since, since == 1 ? "" : "s");
    }
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    if (options_.seconds > 0 && passed.count() >= options_.seconds) {
      return fmt::format("the time limit was reached after step {}", state_.step);
    }
    return std::nullopt;
  }

  /// Of this epoch, as far as they are used.
  int64_t examples_left() const {
    const int64_t left = feeds_.size() - state_.position;
    return state_.drop_last && left < examples_a_step(state_) ? 0 : left;
  }

  Moment moment() const { return {.epoch = state_.epoch + 1, .step = state_.step}; }

  /// The examples of the next step, cut into micro-batches.
  std::vector<std::span<const int64_t>> next_rows() {
    int64_t position = state_.position;
    if (order_epoch_ != state_.epoch) {
      order_ = options_.balanced.empty()
                   ? shuffled_order(feeds_.size(), state_.seed, state_.epoch)
                   : balanced_order(options_.balanced, state_.seed, state_.epoch);
      order_epoch_ = state_.epoch;
      expect(std::span(order_).subspan(static_cast<size_t>(position)));
    }
    std::vector<std::span<const int64_t>> parts;
    for (int64_t i = 0; i < state_.accumulate && position < feeds_.size(); ++i) {
      const auto first = static_cast<size_t>(position);
      const int64_t count = std::min(state_.batch, feeds_.size() - position);
      parts.push_back(std::span(order_).subspan(first, static_cast<size_t>(count)));
      position += count;
    }
    return parts;
  }

  void expect(std::span<const int64_t> rows) {
    const Ahead ahead{.examples = 2 * std::min(examples_a_step(state_), feeds_.size()),
                      .threads = trainer_.threads(),
                      .epoch = state_.epoch};
    if (options_.frozen) return options_.frozen->expect(rows, ahead);
    feeds_.expect(rows, ahead);
  }

  TensorMap batch(std::span<const int64_t> rows) {
    return options_.frozen ? options_.frozen->batch(rows, trainer_.state()) : feeds_.batch(rows);
  }

  void step() {
    const auto parts = next_rows();
    std::vector<TensorMap> batches;
    int64_t examples = 0;
    for (const auto& rows : parts) {
      batches.push_back(batch(rows));
      examples += static_cast<int64_t>(rows.size());
    }
    MetricTotals totals;
    try {
      trainer_.step(batches, state_.infos,
                    [&](size_t info, size_t micro, const TensorMap& outputs) {
                      totals.add(trainer_.metrics(info), outputs, batches[micro],
                                 static_cast<int64_t>(parts[micro].size()), info);
                    });
    } catch (Error& error) {
      for (size_t i = 0; i < batches.size(); ++i) {
        const auto cause = find_not_finite(batches[i], feeds_, parts[i], options_.frozen);
        if (cause) error.add_context(*cause);
      }
      if (const auto name = trainer_.find_spoiled()) {
        error.add_context(fmt::format("'{}' was not finite before it", *name));
      }
      error.add_context(fmt::format("in step {} (epoch {})", state_.step + 1, state_.epoch + 1));
      throw;
    }
    ++state_.step;
    state_.position += examples;
    state_.totals.add(totals);
    Moment now = moment();
    now.examples = examples;
    report_.step(now, totals.summary(), state_.totals.summary());
  }

  std::optional<Summary> report_epoch() {
    std::optional<Summary> evaluation;
    if (options_.evaluate) evaluation = options_.evaluate();
    report_.epoch(moment(), state_.totals.summary(), evaluation);
    return evaluation;
  }

  /// True where it is the best so far.
  bool end_epoch() {
    const std::optional<Summary> evaluation = report_epoch();
    ++state_.epoch;
    state_.position = 0;
    state_.totals = {};
    if (options_.watched.empty() || !evaluation) return false;
    const double value = metric_of(*evaluation, options_.watched);
    const bool is_best = !std::isnan(value) &&
                         (!state_.best || is_better(options_.watched, value, state_.best->value));
    if (is_best) state_.best = {.value = value, .epoch = state_.epoch, .step = state_.step};
    return is_best;
  }

  bool wants_checkpoint(bool epoch_is_over) const {
    if (!options_.checkpoints) return false;
    return options_.checkpoint_every == 0 ? epoch_is_over
                                          : state_.step % options_.checkpoint_every == 0;
  }

  /// An update may overflow where its loss did not, which the next loss shows: what is kept here is
  /// then what is left of the work.
  void keep() {
    refuse_spoiled();
    trainer_.model();
    options_.on_kept(state_);
  }

  void refuse_spoiled() const {
    if (const auto name = trainer_.find_spoiled()) {
      throw Error(fmt::format("'{}' is not finite after step {}", *name, state_.step));
    }
  }

  void save() {
    refuse_spoiled();
    options_.checkpoints->save(trainer_, state_);
    options_.on_kept(state_);
    saved_ = state_.step;
    report_.checkpoint(moment(), options_.checkpoints->file());
  }

  Trainer& trainer_;
  const Feeds& feeds_;
  LoopState& state_;
  const LoopOptions& options_;
  Report& report_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<int64_t> order_;
  std::optional<uint64_t> order_epoch_;  // the epoch that the order is for
  std::optional<uint64_t> saved_;        // the step after which the last checkpoint was written
};

}  // namespace

uint64_t steps_per_epoch(int64_t examples, const LoopState& loop) {
  const int64_t of_a_step = examples_a_step(loop);
  const bool has_rest = !loop.drop_last && examples % of_a_step != 0;
  return static_cast<uint64_t>(examples / of_a_step) + (has_rest ? 1 : 0);
}

Ending train(Trainer& trainer, const Feeds& feeds, LoopState& loop, const LoopOptions& options,
             Report& report) {
  trainer.set_steps(loop.step);
  return Loop(trainer, feeds, loop, options, report).run();
}

}  // namespace onward
