#include "runtime/commit_bounds.h"

#include <gtest/gtest.h>

#include "ops/op_def.h"

namespace onward {
namespace {

/// One result of a commit whose operands are numbered from 0 on, results following them.
CommitBounds::Result result(std::string_view op, std::vector<size_t> operands,
                            DType dtype = DType::f32) {
  return {.rule = find_op_def("", op)->range, .dtype = dtype, .operands = std::move(operands)};
}

constexpr Range kGradient = {-1e3, 1e3}, kFactor = {0.001, 0.001}, kSquares = {0, 1e6},
                kEither = {-1, 1};

TEST(CommitBounds, BoundsAdamWhoseSquareIsScaledInTheMiddle) {
  // v_new = v + (c g) g;  sqrt(v_new)
  const CommitBounds bounds{.operands = 3,
                            .results = {result("Mul", {1, 0}), result("Mul", {3, 0}),
                                        result("Add", {2, 4}), result("Sqrt", {5})}};
  const auto ranges = bounds.results_of({kGradient, kFactor, kSquares});
  ASSERT_TRUE(ranges);
  EXPECT_EQ(ranges->at(1).low, 0);
  EXPECT_EQ(ranges->at(1).high, 1e3);
  EXPECT_EQ(ranges->at(3).low, 0);
}

TEST(CommitBounds, TakesNoProductForASquareThatIsNone) {
  // (c g) h, and (s g) g with a factor s of either sign.
  const CommitBounds of_two{.operands = 3,
                            .results = {result("Mul", {1, 0}), result("Mul", {3, 2})}};
  EXPECT_EQ(of_two.results_of({kGradient, kFactor, kEither})->at(1).low, -1);
  const CommitBounds signs{.operands = 2,
                           .results = {result("Mul", {1, 0}), result("Mul", {2, 0})}};
  EXPECT_EQ(signs.results_of({kGradient, kEither})->at(1).low, -1e6);
}

TEST(CommitBounds, DividesIntegersTowardsZero) {
  // 1 / (n / 4), where n is 1 to 3.
  const CommitBounds bounds{
      .operands = 3,
      .results = {result("Div", {0, 1}, DType::i64), result("Div", {2, 3}, DType::i64)}};
  EXPECT_FALSE(bounds.results_of({Range{1, 3}, Range{4, 4}, Range{1, 1}}));
}

TEST(CommitBounds, KnowsNothingOfIntegersThatOverflow) {
  const CommitBounds bounds{.operands = 1, .results = {result("Mul", {0, 0}, DType::i32)}};
  EXPECT_TRUE(bounds.results_of({Range{0, 1000}}));
  EXPECT_FALSE(bounds.results_of({Range{0, 1e5}}));
}

TEST(CommitBounds, KnowsNothingOfTheRootOfWhatMayBeNegative) {
  const CommitBounds root{.operands = 1, .results = {result("Sqrt", {0})}};
  EXPECT_FALSE(root.results_of({kGradient}));
}

}  // namespace
}  // namespace onward
