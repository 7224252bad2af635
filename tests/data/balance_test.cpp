#include "data/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace onward {
namespace {

std::map<int64_t, int64_t> counted(const std::vector<int64_t>& order,
                                   const std::vector<int64_t>& labels) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t i : order) ++counts[labels[static_cast<size_t>(i)]];
  return counts;
}

TEST(BalancedOrder, DrawsEachClassEquallyOften) {
  std::vector<int64_t> labels(90, 3);
  labels.resize(98, -1);
  labels.resize(100, 7);
  std::set<int64_t> with_one_more;
  for (uint64_t epoch = 0; epoch < 20; ++epoch) {
    const auto order = balanced_order(labels, 5, epoch);
    ASSERT_EQ(order.size(), labels.size());
    for (const auto& [label, count] : counted(order, labels)) {
      EXPECT_TRUE(count == 33 || count == 34) << label;
      if (count == 34) with_one_more.insert(label);
    }
    // No example comes again before all others of its class came.
    std::map<int64_t, int64_t> times;
    for (const int64_t i : order) ++times[i];
    for (const auto& [example, count] : times) {
      EXPECT_LE(count, example < 90 ? 1 : example < 98 ? 5 : 17) << example;
    }
    EXPECT_EQ(std::ranges::count_if(times, [](const auto& each) { return each.first >= 90; }), 10);
  }
  EXPECT_EQ(with_one_more.size(), 3U);
}

TEST(BalancedOrder, DependsOnSeedAndEpoch) {
  std::vector<int64_t> labels(50, 0);
  labels.resize(60, 1);
  EXPECT_EQ(balanced_order(labels, 1, 2), balanced_order(labels, 1, 2));
  EXPECT_NE(balanced_order(labels, 1, 2), balanced_order(labels, 1, 3));
  EXPECT_NE(balanced_order(labels, 1, 2), balanced_order(labels, 2, 2));
}

TEST(BalancedOrder, TakesWhatItGets) {
  EXPECT_TRUE(balanced_order({}, 1, 1).empty());
  auto order = balanced_order(std::vector<int64_t>{4, 4, 4}, 1, 1);
  std::ranges::sort(order);
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2}));
  order = balanced_order(std::vector<int64_t>{1, 2, 3}, 1, 1);
  std::ranges::sort(order);
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2}));
}

}  // namespace
}  // namespace onward
