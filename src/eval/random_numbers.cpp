#include "eval/random_numbers.h"

#include <cmath>
#include <numbers>

namespace onward::eval {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

/// The finalizer of splitmix64: every bit of the input moves every bit of the result.
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

RandomNumbers::RandomNumbers(const RandomKey& key, std::string_view node)
    : key_(mixed(key.seed + kGolden)) {
  const auto absorb = [this](uint64_t part) { key_ = mixed((key_ ^ part) + kGolden); };
  absorb(key.step);
  absorb(key.micro_batch);
  for (const char letter : node) absorb(static_cast<unsigned char>(letter));
}

double RandomNumbers::uniform(uint64_t index) const {
  return static_cast<double>(mixed(key_ + (index + 1) * kGolden) >> 11) * 0x1p-53;
}

double RandomNumbers::normal(uint64_t index) const {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * index)));  // 1 - u is never 0
  return radius * std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
}

}  // namespace onward::eval
