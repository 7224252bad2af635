#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "passes/example_rows.h"

namespace onward {

/// What it takes for a frozen part to be worth a place of its own: less is as soon computed as
/// read, and a weight that is used a few times an example is used better by many of them at once.
inline constexpr double kLeastMultiplyAdds = 1e6;         // for an example
inline constexpr double kLeastMultiplyAddsPerByte = 100;  // kept
inline constexpr double kLeastUsesOfWeights = 8;          // for an example, on average

/// A step in two: what gives the same for an example whenever it is computed, and what goes on.
struct FrozenPrefix {
  /// A value that goes from one to the other.
  struct Kept {
    std::string name;
    DType dtype = DType::undefined;
    std::vector<int64_t> dims;  // of a batch of one example
    int64_t bytes = 0;
  };

  Model prefix;  // from the data to the cut: its outputs
  Model rest;    // the step with the values at the cut as inputs
  std::vector<Kept> cut;
  size_t nodes = 0, all_nodes = 0;  // of the prefix, and of the forward pass that it is a part of
  int64_t bytes = 0;                // of an example at the cut
  double multiply_adds = 0;         // for an example
};

struct FrozenRequest {
  /// State that the training changes, by name.
  std::set<std::string, std::less<>> trained;
  /// Outputs of the step that the forward pass is made of.
  std::vector<std::string> forward;
  /// The inputs in each size of batch that there will be; the first is of one example.
  std::span<const BatchTypes> batches;
};

/// The prefix, or why there is none that is worth it.
struct FrozenSplit {
  std::optional<FrozenPrefix> prefix;
  std::string reason;
};

/// Splits a step whose gradients are written out. Whatever neither what is trained nor randomness
/// reaches is computed from one example at a time; the cut is where that takes the fewest bytes.
FrozenSplit split_frozen(const Model& step, const FrozenRequest& request);

}  // namespace onward
