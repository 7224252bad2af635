#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace onward {

/// Examples that are trained on, and examples that are held out.
struct Split {
  std::vector<int64_t> training, validation;
};

/// Holds out a part of the examples: of each label so many of its own, rounded, but never all.
/// Without labels, so many of all. The same on every machine for the same seed; either list is in
/// order. Throws Error where nothing would be held out, or nothing left.
Split split(int64_t size, std::span<const int64_t> labels, double part, uint64_t seed);

}  // namespace onward
