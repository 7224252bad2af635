#include "train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

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
  const Comparison how{.task = Task::classes};
  const StepMetrics metrics{
      .scores = "scores", .labels = "labels", .how = how, .asked = default_metrics(how)};
  MetricTotals totals;
  totals.add(metrics, {{"scores", Tensor::of<double>({3, 2}, {1, 1, 0, 1, 1, 0})}},
             {{"labels", Tensor::of<int32_t>({3}, {0, 1, 1})}}, 3, 0);
  ASSERT_EQ(totals.means.size(), 1U);
  EXPECT_EQ(totals.means[0].sum.value(), 2);
  EXPECT_EQ(totals.means[0].count, 3);
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
  state.totals.means = {
      {.name = "accuracy", .sum = {.sum = 8}, .count = 9},
      {.name = "mse", .sum = {.sum = 1e300 * 1e300, .rest = 0.1}, .count = 2},
      {.name = "top-2", .sum = {.sum = 3}, .count = 4, .why_not = WhyNot::not_finite}};
  const LoopState back = loop_state_from_json(to_json(state));
  EXPECT_EQ(to_json(back), to_json(state));
  EXPECT_EQ(back.seed, state.seed);
  EXPECT_EQ(back.totals.losses[0].sum, 0.1 + 0.2);
  ASSERT_EQ(back.totals.means.size(), 3U);
  EXPECT_EQ(back.totals.means[0].count, 9);
  EXPECT_TRUE(std::isinf(back.totals.means[1].sum.sum));
  EXPECT_EQ(back.totals.means[1].sum.rest, 0.1);
  EXPECT_EQ(back.totals.means[2].why_not, WhyNot::not_finite);
}

/// Checkpoints of before there were other metrics have the two counts of accuracy alone.
TEST(LoopState, ReadsTheAccuracyOfBefore) {
  std::string text = to_json(LoopState{.batch = 1});
  const std::string none = R"("right":0,"judged":0)";
  const size_t at = text.find(none);
  ASSERT_NE(at, std::string::npos) << text;
  const LoopState state =
      loop_state_from_json(text.replace(at, none.size(), R"("right":3,"judged":4)"));
  EXPECT_EQ(state.totals.summary().accuracy, 0.75);
}

/// Of 4 examples with two numbers each; the second number's labels are all the same.
TEST(Metrics, OfNumbersAreThoseOfScikitLearn) {
  const Comparison how{.task = Task::regression};
  StepMetrics metrics{.scores = "p", .labels = "y", .how = how};
  ask_for({"r2", "mse", "mae", "f1"}, metrics);
  EXPECT_EQ(metrics.asked.size(), 3U);  // f1 does not fit
  MetricTotals totals;
  EvaluationTally tally;
  for (const int64_t first : {0, 2}) {
    const auto rows = [&](const std::vector<double>& all) {
      return Tensor::of<double>({2, 2}, {all.begin() + 2 * first, all.begin() + 2 * first + 4});
    };
    const TensorMap outputs = {{"p", rows({1, 3, 2, 3, 4, 3, 5, 3})}};
    const TensorMap inputs = {{"y", rows({1, 3, 2, 3, 3, 3, 6, 3})}};
    totals.add(metrics, outputs, inputs, 2, 0);
    tally.add(metrics, outputs, inputs);
  }
  Summary summary;
  tally.finish(metrics, totals.summary(), summary);
  EXPECT_EQ(metric_of(summary, "mse"), 0.25);
  EXPECT_EQ(metric_of(summary, "mae"), 0.25);
  EXPECT_DOUBLE_EQ(metric_of(summary, "r2"), (1 - 2.0 / 14 + 1) / 2);
  EXPECT_EQ(summary.metrics[0].first, "r2");
  EXPECT_THROW(metric_of(summary, "f1"), Error);
}

TEST(Metrics, AreMissingWithAReason) {
  struct Row {
    const char* metric;
    Comparison how;
    Tensor scores, labels;
    const char* why_not;
  };
  const Comparison binary{.task = Task::binary}, classes{.task = Task::classes},
      ignoring{.task = Task::classes, .ignored = 1}, numbers{.task = Task::regression};
  const double nan = std::nan("");
  const auto f64 = [](std::vector<int64_t> dims, const std::vector<double>& values) {
    return Tensor::of<double>(std::move(dims), values);
  };
  const auto i64 = [](const std::vector<int64_t>& values) {
    return Tensor::of<int64_t>({std::ssize(values)}, values);
  };
  const Row rows[] = {
      {"auc", binary, f64({2}, {1, 2}), f64({2}, {0, 0}), "no examples have label 1"},
      {"auc", binary, f64({2}, {1, 2}), f64({2}, {1, 1}), "all examples have label 1"},
      {"auc", classes, f64({2, 3}, {1, 2, 3, 4, 5, 6}), i64({0, 1}), "no examples have label 2"},
      {"auc", binary, f64({2}, {1, nan}), f64({2}, {0, 1}), "finite"},
      {"f1", binary, f64({2}, {1, nan}), f64({2}, {0, 1}), "finite"},
      {"accuracy", binary, f64({2}, {1, 2}), f64({2}, {0, 0.5}), "not all labels are 0 or 1"},
      {"f1", binary, f64({2}, {1, 2}), f64({2}, {0, 0.5}), "not all labels are 0 or 1"},
      {"accuracy", classes, f64({1, 2}, {nan, 2}), i64({0}), "finite"},
      {"top-1", classes, f64({1, 2}, {nan, 2}), i64({0}), "finite"},
      {"recall", classes, f64({1, 2}, {nan, 2}), i64({0}), "finite"},
      {"accuracy", ignoring, f64({1, 2}, {3, 2}), i64({1}), "no label counts"},
      {"precision", ignoring, f64({1, 2}, {3, 2}), i64({1}), "no label counts"},
      {"auc", ignoring, f64({1, 2}, {3, 2}), i64({1}), "no label counts"},
      {"mse", numbers, f64({2}, {1, nan}), f64({2}, {0, 1}), "finite"},
      {"r2", numbers, f64({2}, {1, 2}), f64({2}, {0, nan}), "finite"},
      {"r2", numbers, f64({1}, {1}), f64({1}, {1}), "two examples"},
  };
  for (const Row& row : rows) {
    StepMetrics metrics{.scores = "p", .labels = "y", .how = row.how};
    ask_for({row.metric}, metrics);
    ASSERT_EQ(metrics.asked.size(), 1U) << row.metric;
    MetricTotals totals;
    EvaluationTally tally;
    totals.add(metrics, {{"p", row.scores}}, {{"y", row.labels}}, 1, 0);
    tally.add(metrics, {{"p", row.scores}}, {{"y", row.labels}});
    Summary summary;
    tally.finish(metrics, totals.summary(), summary);
    ASSERT_EQ(summary.missing.size(), 1U) << row.metric << row.why_not;
    EXPECT_NE(summary.missing[0].second.find(row.why_not), std::string::npos)
        << summary.missing[0].second;
    EXPECT_TRUE(std::isnan(metric_of(summary, row.metric)));
    EXPECT_FALSE(is_better(row.metric, metric_of(summary, row.metric), 0));
  }
}

TEST(Metrics, RefuseLabelsOfNoClass) {
  const Comparison how{.task = Task::classes};
  for (const char* name : {"f1", "top-1", "auc"}) {
    StepMetrics metrics{.scores = "p", .labels = "y", .how = how};
    ask_for({name}, metrics);
    const TensorMap outputs = {{"p", Tensor::of<float>({1, 3}, {1, 2, 3})}};
    const TensorMap inputs = {{"y", Tensor::of<int64_t>({1}, {3})}};
    EXPECT_THROW(
        {
          MetricTotals().add(metrics, outputs, inputs, 1, 0);
          EvaluationTally().add(metrics, outputs, inputs);
        },
        Error)
        << name;
  }
}

TEST(Metrics, KnowWhatIsBetter) {
  for (const char* name : {"accuracy", "top-5", "f1", "auc", "r2", "mean-iou"}) {
    EXPECT_TRUE(is_better(name, 2, 1)) << name;
    EXPECT_FALSE(is_better(name, 1, 2)) << name;
  }
  for (const char* name : {"loss", "mse", "mae", "loss of info 1"}) {
    EXPECT_TRUE(is_better(name, 1, 2)) << name;
    EXPECT_FALSE(is_better(name, 2, 1)) << name;
  }
}

TEST(Metrics, HaveNamesAndTasks) {
  for (const std::string& name : metric_names()) {
    const AskedMetric asked = required_metric(name);
    EXPECT_EQ(asked.name, name);
    const MetricDef& def = *asked.def;
    EXPECT_NE(def.mean != nullptr, def.gather != nullptr) << name;
    EXPECT_NE(def.fits, 0) << name;
  }
  EXPECT_EQ(metric_list("f1,top-10"), (std::vector<std::string>{"f1", "top-10"}));
  for (const char* text : {"", "f1,", "f2", "top-0", "top-", "top-K", "top-1x", "f1,f1"}) {
    EXPECT_THROW(metric_list(text), Error) << text;
  }
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
