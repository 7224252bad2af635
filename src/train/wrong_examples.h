#pragma once

#include <optional>
#include <span>
#include <vector>

#include "train/evaluator.h"

namespace onward {

/// An example that was taken for another class than its own.
struct WrongExample {
  int64_t row = 0;  // of the data that is evaluated
  int64_t truth = 0, predicted = 0;
  double probability = 0, of_truth = 0;  // of the two, after a softmax where scores are none
  double loss = 0;                       // -log of the probability of the truth
};

/// Keeps those of the highest loss out of all that an evaluation sees, and counts what was taken
/// for what.
class WrongExamples {
 public:
  static constexpr size_t kMost = 24;
  /// Of more classes (a vocabulary) their square would be too much to count.
  static constexpr int64_t kMaxCountedClasses = 2000;

  /// Forgets those of the evaluation before.
  void clear() { *this = {}; }
  /// Examples are those with scores [N,C] and labels [N].
  void add(const ScoredBatch& batch);

  /// The worst first.
  std::vector<WrongExample> worst() const;
  /// How many there were.
  int64_t count() const { return count_; }
  const Confusion& confusion() const { return tally_.confusion; }

 private:
  std::vector<WrongExample> kept_;
  int64_t count_ = 0;
  Tally tally_;
};

}  // namespace onward
