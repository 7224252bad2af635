// Which node is named where a step is not finite.

#include "train/not_finite.h"

#include <gtest/gtest.h>

#include <limits>

#include "format/load.h"
#include "onward/error.h"
#include "train/trainer.h"

namespace onward {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A step that makes the mean of y smaller; m is a constant of the graph.
Model training(const std::string& body, float m) {
  Model model =
      parse_text(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
g (float[N] x) => (float[N] y) <float[1] w = {1}, float[1] m = {0}> { )" +
                 body + R"( }
training_info {
  algorithm step () => (float loss, float[1] new_w) {
    loss = ReduceMean<keepdims = 0>(y)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    new_w = Sub(w, dw)
  }
  update_binding { w <- new_w }
})");
  for (Value* value : model.graph->initializers()) {
    if (value->name() == "m") model.graph->set_initializer(value, Tensor::of<float>({1}, {m}));
  }
  return model;
}

std::string refusal(Trainer& trainer, const std::vector<float>& x) {
  try {
    trainer.step({{"x", Tensor::of<float>({std::ssize(x)}, x)}});
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(NotFinite, AMaskIsNoCause) {
  // What is masked becomes -inf on purpose; that it is then multiplied by 0 is the mistake.
  Trainer trainer(training("p = Mul(x, w) q = Add(p, m) z = Sub(w, w) y = Mul(q, z)", -kInfinity));
  const std::string why = refusal(trainer, {1, 2});
  EXPECT_NE(why.find("(Mul) made NaN first, of 'q'"), std::string::npos) << why;
}

TEST(NotFinite, IsExplainedOnce) {
  Trainer trainer(training("p = Mul(x, w) y = Log(p)", 0));
  EXPECT_NE(refusal(trainer, {0, 1}).find("(Log) made infinity first, of 'p' from 0 to 1"),
            std::string::npos);
  const std::string again = refusal(trainer, {0, 1});
  EXPECT_NE(again.find("'loss' became -inf"), std::string::npos) << again;
  EXPECT_EQ(again.find("made"), std::string::npos) << again;
  EXPECT_EQ(trainer.steps(), 0U);
  EXPECT_EQ(trainer.state().get("w").number(0), 1);
  EXPECT_EQ(refusal(trainer, {1, 2}), "");
}

TEST(NotFinite, SaysNothingOfDataOrStateThatWereNot) {
  Trainer data(training("y = Mul(x, w)", 0));
  EXPECT_EQ(refusal(data, {kInfinity, 1}).find("made"), std::string::npos);
  Trainer state(training("y = Mul(x, w)", 0));
  state.state().set("w", Tensor::of<float>({1}, {kInfinity}));
  const std::string why = refusal(state, {1, 1});
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(why.find("made"), std::string::npos) << why;
}

TEST(NotFinite, FindsTheMicroBatch) {
  Trainer trainer(training("p = Mul(x, w) y = Log(p)", 0));
  const TensorMap good = {{"x", Tensor::of<float>({2}, {1, 2})}},
                  bad = {{"x", Tensor::of<float>({2}, {3, 0})}};
  try {
    trainer.step_accumulated(std::vector<TensorMap>{good, bad});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("of 'p' from 0 to 3"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace onward
