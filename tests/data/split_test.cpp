#include "data/split.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/feeds.h"
#include "onward/error.h"

namespace onward {
namespace {

TEST(Split, HoldsOutAPartOfEachLabel) {
  std::vector<int64_t> labels;
  for (const auto& [label, count] : {std::pair{5, 40}, {-1, 10}, {2, 3}, {7, 1}}) {
    labels.insert(labels.end(), static_cast<size_t>(count), label);
  }
  const auto held_out = [&](const Split& split, int64_t label) {
    return std::ranges::count_if(
        split.validation, [&](int64_t i) { return labels[static_cast<size_t>(i)] == label; });
  };
  const Split parts = split(54, labels, 0.25, 3);
  EXPECT_EQ(held_out(parts, 5), 10);
  EXPECT_EQ(held_out(parts, -1), 3);  // 2.5, rounded
  EXPECT_EQ(held_out(parts, 2), 1);
  EXPECT_EQ(held_out(parts, 7), 0);  // its only example is trained on
  EXPECT_EQ(held_out(split(54, labels, 0.99, 3), 7), 0);
  std::vector<int64_t> all = parts.training;
  all.insert(all.end(), parts.validation.begin(), parts.validation.end());
  std::ranges::sort(all);
  for (int64_t i = 0; i < 54; ++i) ASSERT_EQ(all[static_cast<size_t>(i)], i);
  EXPECT_EQ(split(54, labels, 0.25, 3).validation, parts.validation);
  EXPECT_NE(split(54, labels, 0.25, 4).validation, parts.validation);
  EXPECT_EQ(split(54, {}, 0.25, 3).validation.size(), 14U);  // 13.5, rounded
  EXPECT_TRUE(std::ranges::is_sorted(parts.validation));
}

TEST(Split, SaysWhatIsWrong) {
  const std::vector<int64_t> labels = {1, 2, 3};
  for (const double part : {0.0, 1.0, -0.5, 2.0}) EXPECT_THROW(split(9, {}, part, 0), Error);
  EXPECT_THROW(split(3, labels, 0.9, 0), Error);
  EXPECT_THROW(split(9, {}, 0.01, 0), Error);
}

TEST(Feeds, SelectsExamples) {
  const InputSlot x{.name = "x", .type = Type::tensor(DType::f32, Shape{Dim{}})};
  Feeds feeds(Dataset({{"x", Tensor::of<float>({5}, {0, 10, 20, 30, 40})}}), {x});
  EXPECT_EQ(feeds.place(1), 1);
  feeds.select({1, 4});
  EXPECT_EQ(feeds.size(), 2);
  EXPECT_EQ(feeds.place(1), 4);
  const std::vector<int64_t> rows = {1, 0};
  const Arrays batch = feeds.batch(rows);
  EXPECT_EQ(batch.at("x").number(0), 40);
  EXPECT_EQ(batch.at("x").number(1), 10);
}

}  // namespace
}  // namespace onward
