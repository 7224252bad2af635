#include "eval/random_numbers.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace onward::eval {

RandomKey RandomKey::in_iteration(uint64_t index) const {
  RandomKey key = *this;
  key.iterations = RandomNumbers({.seed = iterations, .step = index}, "").uniform_bits(0) + 1;
  return key;
}

RandomNumbers::RandomNumbers(const RandomKey& key, std::string_view node)
    : key_(mixed(key.seed + kGolden)) {
  const auto absorb = [this](uint64_t part) { key_ = mixed((key_ ^ part) + kGolden); };
  absorb(key.step);
  absorb(key.micro_batch);
  if (key.iterations != 0) absorb(key.iterations);
  for (const char letter : node) absorb(static_cast<unsigned char>(letter));
}

double RandomNumbers::normal(uint64_t index) const {
  const double radius = std::sqrt(-2 * std::log(1 - uniform(2 * index)));  // 1 - u is never 0
  return radius * std::cos(2 * std::numbers::pi * uniform(2 * index + 1));
}

RandomNumbers random_numbers_of(const Node& node, RandomKey key) {
  if (const auto* seed = node.get<float>("seed")) {
    key.seed = std::bit_cast<uint32_t>(*seed);
  } else if (const auto* whole = node.get<int64_t>("seed")) {
    key.seed = static_cast<uint64_t>(*whole);
  }
  return {key, node.label()};
}

}  // namespace onward::eval
