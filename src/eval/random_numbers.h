#pragma once

#include <cstdint>
#include <string_view>

#include "eval/kernel.h"

namespace onward::eval {

/// Random numbers by counter: number i of a node depends on the run's key, the node and i alone, so
/// that a resumed, a repeated and a parallel run give the same bits.
class RandomNumbers {
 public:
  /// `node` names the node: its first output.
  RandomNumbers(const RandomKey& key, std::string_view node);

  /// Uniform in [0, 1), in steps of 2^-53.
  double uniform(uint64_t index) const;
  /// Normal with mean 0 and deviation 1, by Box and Muller's method.
  double normal(uint64_t index) const;

 private:
  uint64_t key_;
};

}  // namespace onward::eval
