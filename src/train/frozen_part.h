#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "data/feeds.h"
#include "passes/frozen_prefix.h"
#include "runtime/program.h"
#include "train/example_store.h"
#include "train/report.h"

namespace onward {

/// How results of frozen parts are kept.
struct FrozenOptions {
  /// For all parts of a training; without it they are computed whenever they are asked for.
  std::shared_ptr<StoreRoom> room;
  /// Is told what was lost where a disk refuses something.
  std::function<void(const std::string&)> on_warning = [](const std::string&) {};
};

/// The frozen part of a step, with what it gives for the examples of a dataset. It is computed from
/// one example at a time, so that its bits depend neither on the batches that there are nor on what
/// is kept.
class FrozenPart {
 public:
  /// `read` are the inputs of the rest of the step, and others that go with them.
  FrozenPart(FrozenPrefix found, const Feeds& feeds, const std::vector<std::string>& read,
             FrozenOptions options);

  /// The inputs of the rest of the step for these examples. Throws Error where one cannot be read.
  TensorMap batch(std::span<const int64_t> rows, State& state);
  /// As Feeds::expect: what is kept is not read.
  void expect(std::span<const int64_t> rows, const Ahead& ahead) const;

  const FrozenSummary& summary() const { return summary_; }
  /// The values that it gives.
  bool gives(std::string_view name) const;
  std::string explain() const;

 private:
  using InputNames = std::set<std::string, std::less<>>;

  /// Computes one example; `given` has the inputs of its batch that were read anyway.
  void compute(int64_t row, int64_t place, const TensorMap& given, State& state);

  const Feeds& feeds_;
  FrozenOptions options_;
  Program program_;
  InputNames inputs_;  // of the part
  InputNames read_;    // of the rest
  std::vector<FrozenPrefix::Kept> outputs_;
  FrozenSummary summary_;
  double multiply_adds_;
  std::vector<std::byte> record_;  // the outputs of one example, one behind the other
  std::unique_ptr<ExampleStore> store_;
};

/// The types of batches of these data: of one example first, then of all sizes that an epoch has.
std::vector<BatchTypes> batch_types(const Feeds& feeds, int64_t batch);

/// Why nothing of these data can be kept, or computed from one example; empty where it can.
std::string why_not_kept(const Feeds& feeds);

}  // namespace onward
