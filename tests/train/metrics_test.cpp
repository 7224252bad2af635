#include "train/metrics.h"

#include <gtest/gtest.h>

#include "onward/error.h"
#include "train/loop_state.h"

namespace onward {
namespace {

TEST(MetricTotals, MeansOverExamples) {
  const StepMetrics metrics{.losses = {"loss"}};
  MetricTotals totals;
  totals.add(metrics, {{"loss", Tensor::scalar<float>(1)}}, {}, 30, 0);
  totals.add(metrics, {{"loss", Tensor::scalar<float>(5)}}, {}, 10, 0);
  EXPECT_EQ(totals.summary().losses[0].second, 2);
  EXPECT_EQ(to_string(totals.summary()), "loss 2");
}

TEST(MetricTotals, TellLossesOfOneNameApart) {
  const StepMetrics metrics{.losses = {"loss"}};
  MetricTotals totals;
  for (const size_t info : {0, 1}) {
    totals.add(metrics, {{"loss", Tensor::scalar<double>(static_cast<double>(info))}}, {}, 1, info);
  }
  EXPECT_EQ(to_string(totals.summary()), "loss of info 0 0, loss of info 1 1");
}

TEST(MetricTotals, CountTheFirstOfEqualScores) {
  const StepMetrics metrics{.scores = "scores", .labels = "labels"};
  MetricTotals totals;
  totals.add(metrics, {{"scores", Tensor::of<double>({3, 2}, {1, 1, 0, 1, 1, 0})}},
             {{"labels", Tensor::of<int32_t>({3}, {0, 1, 1})}}, 3, 0);
  EXPECT_EQ(totals.right, 2);
  EXPECT_EQ(totals.judged, 3);
}

TEST(MetricTotals, TakeTheSumOfALossThatIsNoScalar) {
  const StepMetrics metrics{.losses = {"loss"}};
  MetricTotals totals;
  totals.add(metrics, {{"loss", Tensor::of<float>({3}, {1, 2, 4})}}, {}, 3, 0);
  EXPECT_EQ(totals.summary().losses[0].second, 7);
}

TEST(LoopState, ComesBack) {
  LoopState state{.seed = 0xffffffffffffffff,
                  .batch = 3,
                  .accumulate = 2,
                  .drop_last = true,
                  .infos = {1},
                  .data = 0x8000000000000001,
                  .epoch = 4,
                  .position = 5,
                  .step = 6};
  state.totals.losses = {{.name = "l\"oss", .info = 1, .sum = 0.1 + 0.2, .examples = 7}};
  state.totals.right = 8;
  const LoopState back = loop_state_from_json(to_json(state));
  EXPECT_EQ(to_json(back), to_json(state));
  EXPECT_EQ(back.seed, state.seed);
  EXPECT_EQ(back.totals.losses[0].sum, 0.1 + 0.2);
}

/// Checkpoints of before Winograd's algorithm do not say it.
TEST(LoopState, WasOnceOfDirectConvolutions) {
  const std::string said = R"(,"conv":"fastest")";
  std::string text = to_json(LoopState{.batch = 1, .conv = "fastest"});
  EXPECT_EQ(loop_state_from_json(text).conv, "fastest");
  const size_t at = text.find(said);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(loop_state_from_json(text.erase(at, said.size())).conv, "direct");
}

TEST(LoopState, RefusesWhatIsDamaged) {
  const std::string good = to_json(LoopState{.batch = 1});
  EXPECT_NO_THROW(loop_state_from_json(good));
  for (const std::string& text :
       {std::string(), std::string("[]"), good.substr(1), std::string(R"({"version": 1})"),
        std::string(R"({"version": 9})"), to_json(LoopState{.batch = 0}),
        to_json(LoopState{.batch = 1, .accumulate = 0})}) {
    EXPECT_THROW(loop_state_from_json(text), Error) << text;
  }
}

}  // namespace
}  // namespace onward
