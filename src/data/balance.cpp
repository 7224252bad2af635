#include "data/balance.h"

#include <map>

#include "data/dataset.h"

namespace onward {

std::vector<int64_t> balanced_order(std::span<const int64_t> labels, uint64_t seed,
                                    uint64_t epoch) {
  const int64_t size = std::ssize(labels);
  std::map<int64_t, std::vector<int64_t>> examples;  // of each class, in the epoch's order
  for (const int64_t i : shuffled_order(size, seed, epoch)) {
    examples[labels[static_cast<size_t>(i)]].push_back(i);
  }
  const int64_t classes = std::ssize(examples);
  std::vector<int64_t> drawn;
  std::vector<int64_t> turns;  // which classes get one more
  if (classes > 0) turns = shuffled_order(classes, seed, epoch);
  int64_t number = 0;
  for (const auto& [label, own] : examples) {
    const bool one_more = turns[static_cast<size_t>(number++)] < size % classes;
    const int64_t share = size / classes + (one_more ? 1 : 0);
    for (int64_t i = 0; i < share; ++i)
      drawn.push_back(own[static_cast<size_t>(i % std::ssize(own))]);
  }
  std::vector<int64_t> order;
  // Another shuffle than that of the examples: of an order that no epoch has with this seed.
  for (const int64_t i : shuffled_order(size, ~seed, epoch)) {
    order.push_back(drawn[static_cast<size_t>(i)]);
  }
  return order;
}

}  // namespace onward
