// The loop over a dataset: in which order, how many steps, when a checkpoint is written, and that
// it goes on as if it had never stopped.

#include "train/loop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "format/load.h"
#include "tests/temporary_folder.h"
#include "train/checkpoint.h"

namespace onward {
namespace {

/// Remembers the steps and the checkpoints.
class Remembered : public Report {
 public:
  void begin(const Job&) override {}
  void step(const Moment& moment, const Summary&, const Summary&) override {
    steps.push_back(moment.examples);
  }
  void evaluating(int64_t, int64_t) override {}
  void epoch(const Moment&, const Summary&, const std::optional<Summary>&) override {}
  void checkpoint(const Moment& moment, const std::filesystem::path&) override {
    checkpoints.push_back(moment.step);
  }
  void interrupted(const Moment&, const std::string&) override {}
  void best(const Moment&, const std::filesystem::path&) override {}
  void stopped(const Moment&, const std::string& reason) override { why = reason; }
  void done(const Moment&, const std::filesystem::path&) override {}

  std::vector<int64_t> steps;  // the examples of each
  std::vector<uint64_t> checkpoints;
  std::string why;
};

/// A training whose state h tells in which order it saw its examples, and which random numbers.
Model telling(const std::string& seen = "ReduceSum<keepdims = 0>(x)") {
  return parse_text(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
g (double[N] x) => (double[N] y) <double w = {1}, double h = {0}> { y = Mul(x, w) }
training_info {
  algorithm step () => (double loss, double new_w, double new_h) <double three = {3}, double rate = {0.01}> {
    loss = ReduceMean<keepdims = 0>(y)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    change = Mul(dw, rate)
    new_w = Sub(w, change)
    seen = )" + seen +
                    R"(
    before = Mul(h, three)
    new_h = Add(before, seen)
  }
  update_binding { w <- new_w  h <- new_h }
})");
}

Feeds feeds(const Model& model, int64_t examples) {
  std::vector<double> x;
  for (int64_t i = 0; i < examples; ++i) x.push_back(static_cast<double>(i + 1));
  return {Dataset({{"x", Tensor::of<double>({examples}, x)}}), input_slots(model)};
}

double told(Trainer& trainer) { return trainer.state().get("h").number(0); }

TEST(Loop, TakesEachEpochInAnOrderOfItsOwn) {
  const auto order_of = [](uint64_t epoch, uint64_t seed) {
    Trainer trainer(telling());
    LoopState loop{.seed = seed, .batch = 1, .infos = {0}, .epoch = epoch};
    Remembered report;
    train(trainer, feeds(telling(), 8), loop, {.epochs = epoch + 1}, report);
    EXPECT_EQ(report.steps.size(), 8U);
    return told(trainer);
  };
  EXPECT_EQ(order_of(0, 1), order_of(0, 1));
  EXPECT_NE(order_of(0, 1), order_of(1, 1));
  EXPECT_NE(order_of(0, 1), order_of(0, 2));
}

TEST(Loop, StopsWhereNothingGetsBetter) {
  struct Row {
    const char* metric;
    std::vector<double> values;  // by epoch; NaN is never better
    uint64_t patience, epochs, best;
  };
  const double nan = std::nan("");
  const Row rows[] = {
      {"loss", {3, 2, 2, 4, 1}, 2, 4, 2},     {"loss", {3, 2, 2, 1, 1, 1}, 2, 6, 4},
      {"accuracy", {0.3, 0.2, 0.9}, 1, 2, 1}, {"loss", {nan, 2, nan, nan}, 2, 4, 2},
      {"loss", {nan, nan, nan}, 2, 2, 0},     {"loss", {3, 2, 1}, 1, 3, 3},
  };
  for (const Row& row : rows) {
    // As a whole, and as two trainings of which the second goes on.
    for (const uint64_t first : {uint64_t{0}, uint64_t{2}}) {
      Trainer trainer(telling());
      LoopState loop{.batch = 2, .infos = {0}};
      std::vector<uint64_t> best;
      Remembered report;
      for (const uint64_t epochs : {first, row.values.size()}) {
        if (epochs == 0) continue;
        const LoopOptions options{.epochs = epochs,
                                  .evaluate =
                                      [&] {
                                        const double value = row.values[loop.epoch];
                                        return Summary{.losses = {{"loss", value}},
                                                       .accuracy = value};
                                      },
                                  .watched = row.metric,
                                  .patience = row.patience,
                                  .on_best = [&] { best.push_back(loop.epoch); }};
        train(trainer, feeds(telling(), 4), loop, options, report);
      }
      EXPECT_EQ(loop.epoch, row.epochs) << row.metric << row.values.size();
      EXPECT_EQ(loop.best ? loop.best->epoch : 0, row.best);
      EXPECT_EQ(best.empty() ? 0 : best.back(), row.best);
      EXPECT_EQ(report.why.empty(), row.epochs == row.values.size()) << report.why;
    }
  }
}

TEST(Loop, ForgetsNothingOfTheBest) {
  LoopState loop{.batch = 2, .infos = {0}};
  loop.options = {{"--val-split", "0.1"}};
  loop.best = {.value = 0.1, .epoch = 3, .step = 12};
  const LoopState again = loop_state_from_json(to_json(loop));
  EXPECT_EQ(again.options, loop.options);
  ASSERT_TRUE(again.best);
  EXPECT_EQ(again.best->value, 0.1);
  EXPECT_EQ(again.best->epoch, 3U);
  EXPECT_EQ(again.best->step, 12U);
}

TEST(Loop, GoesOnWithTheRandomNumbersOfItsStep) {
  const std::string random = "RandomNormalLike(h)";
  const Model model = telling(random);
  Trainer whole(telling(random)), first(telling(random)), second(telling(random));
  Remembered report;
  LoopState loop{.batch = 1, .infos = {0}}, stopped = loop;
  train(whole, feeds(model, 8), loop, {.steps = 5}, report);
  train(first, feeds(model, 8), stopped, {.steps = 2}, report);
  for (const std::string& name : first.state().names()) {
    second.state().set(name, first.state().get(name));
  }
  train(second, feeds(model, 8), stopped, {.steps = 5}, report);
  EXPECT_EQ(told(second), told(whole));
  EXPECT_NE(told(second), told(first));
}

TEST(Loop, LeavesOutAStepThatMicroBatchesDoNotFill) {
  struct Counted {
    bool drop_last;
    std::vector<int64_t> steps;
  };
  for (const Counted& tested : {Counted{true, {4, 4}}, Counted{false, {4, 4, 3}}}) {
    Trainer trainer(telling());
    LoopState loop{.batch = 2, .accumulate = 2, .drop_last = tested.drop_last, .infos = {0}};
    Remembered report;
    train(trainer, feeds(telling(), 11), loop, {.epochs = 1}, report);
    EXPECT_EQ(report.steps, tested.steps);
    EXPECT_EQ(steps_per_epoch(11, loop), tested.steps.size());
  }
}

TEST(Loop, SavesOnTheWayAndAtTheEnd) {
  struct Saved {
    uint64_t every;
    std::vector<uint64_t> after;
  };
  for (const Saved& tested : {Saved{3, {3, 6, 8}}, Saved{4, {4, 8}}, Saved{0, {5, 8}}}) {
    const TemporaryFolder folder;
    CheckpointFolder checkpoints(folder.path() / "kept");
    checkpoints.open();
    Trainer trainer(telling());
    LoopState loop{.batch = 1, .infos = {0}};
    Remembered report;
    train(trainer, feeds(telling(), 5), loop,
          {.steps = 8, .checkpoints = &checkpoints, .checkpoint_every = tested.every}, report);
    EXPECT_EQ(report.checkpoints, tested.after) << tested.every;
    EXPECT_EQ(checkpoints.load().loop.step, 8U);
  }
}

}  // namespace
}  // namespace onward
