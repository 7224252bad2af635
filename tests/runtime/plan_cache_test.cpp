// Plans are kept by the types of the inputs, as far as their bytes allow.

#include "runtime/plan_cache.h"

#include <gtest/gtest.h>

namespace onward {
namespace {

/// A plan that holds a constant of so many bytes.
std::unique_ptr<Plan> plan_of(size_t bytes) {
  auto plan = std::make_unique<Plan>();
  plan->slots.push_back(
      {.home = SlotInfo::Home::constant,
       .constant = Tensor::from_bytes(DType::u8, {static_cast<int64_t>(bytes)},
                                      std::make_shared<std::string>(bytes, 'x'))});
  return plan;
}

TEST(PlanCacheTest, ThePlansLongestUnusedGo) {
  const Graph step;
  PlanCache cache;
  constexpr size_t kEach = PlanCache::kMaxBytes / 8;
  for (int i = 0; i < 100; ++i) {
    cache.add(std::to_string(i), plan_of(kEach), step);
    EXPECT_LE(cache.bytes(), PlanCache::kMaxBytes);
    EXPECT_NE(cache.find("0"), nullptr) << "it is used all the time";
  }
  EXPECT_EQ(cache.size(), 7U);
  EXPECT_EQ(cache.find("50"), nullptr);
  EXPECT_NE(cache.find("99"), nullptr);
}

TEST(PlanCacheTest, APlanThatIsTooLargeIsKeptAlone) {
  const Graph step;
  PlanCache cache;
  cache.add("small", plan_of(10), step);
  BoundPlan& large = cache.add("large", plan_of(2 * PlanCache::kMaxBytes), step);
  EXPECT_EQ(cache.find("large"), &large);
  EXPECT_EQ(cache.find("small"), nullptr);
}

}  // namespace
}  // namespace onward
