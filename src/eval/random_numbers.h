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

  /// Uniform in [0, 2^53).
  uint64_t uniform_bits(uint64_t index) const { return mixed(key_ + (index + 1) * kGolden) >> 11; }
  /// Uniform in [0, 1), in steps of 2^-53.
  double uniform(uint64_t index) const {
    return static_cast<double>(uniform_bits(index)) * 0x1p-53;
  }
  /// Normal with mean 0 and deviation 1, by Box and Muller's method.
  double normal(uint64_t index) const;

 private:
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

  /// The finalizer of splitmix64: every bit of the input moves every bit of the result.
  static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  uint64_t key_;
};

/// The numbers of a node. A seed of its own makes them the same in every run, though not in every
/// step.
RandomNumbers random_numbers_of(const Node& node, RandomKey key);

}  // namespace onward::eval
