// Nodes that draw random numbers are neither folded nor shared: each draws its own, anew in each
// step and micro-batch, and the same again from the same seed.

#include <gtest/gtest.h>

#include <algorithm>

#include "format/load.h"
#include "train/trainer.h"

namespace onward {
namespace {

using Numbers = std::vector<double>;

Numbers numbers(const Tensor& tensor) {
  Numbers all;
  for (int64_t i = 0; i < tensor.size(); ++i) all.push_back(tensor.number(i));
  return all;
}

/// A training info that binds `a` to what the nodes give as `next`.
Model binding(const std::string& inference, const std::string& nodes) {
  std::string zeros;
  for (int i = 1; i < 64; ++i) zeros += ", 0";
  return parse_text(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
g (float[64] x) => (float[64] y) <float[64] a = {0)" +
                    zeros + "}, float half = {0.5}, bool on = {1}, float two = {2}> { " +
                    inference + R"( }
training_info {
  algorithm step () => (float[64] next) { )" +
                    nodes + R"( }
  update_binding { a <- next }
})");
}

const TensorMap kOnes = {{"x", Tensor::of<float>({64}, std::vector<float>(64, 1.0F))}};

TEST(Random, TwoDropoutsOfOneInputDiffer) {
  Trainer trainer(binding("y = Add(x, a)", R"(
    first = Dropout(x, half, on)
    second = Dropout(x, half, on)
    next = Sub(first, second))"));
  trainer.step(kOnes);
  const Numbers difference = numbers(trainer.state().get("a"));
  EXPECT_TRUE(std::ranges::any_of(difference, [](double each) { return each != 0; }));
}

TEST(Random, ADropoutAndItsWayBackAgree) {
  // dx of the sum of both is the sum of the two masks times the scale: exactly what x itself
  // became.
  Trainer trainer(
      binding("first = Dropout(x, half, on) second = Dropout(x, half, on) y = Add(first, second)",
              R"(
    loss = ReduceSum<keepdims = 0>(y)
    dx = ai.onnx.preview.training.Gradient<xs = ["x"], y = "loss">(x)
    next = Sub(y, dx))"));
  const TensorMap outputs = trainer.step(kOnes);
  EXPECT_EQ(numbers(trainer.state().get("a")), Numbers(64, 0));
  EXPECT_NE(numbers(outputs.at("y")), Numbers(64, 2));
}

class Drawn : public testing::TestWithParam<std::string> {};

TEST_P(Drawn, DiffersFromStepToStepAndFromNodeToNode) {
  const std::string node = GetParam();
  Trainer trainer(binding("y = Add(x, a)", "next = " + node));
  trainer.step(kOnes);
  const Numbers first = numbers(trainer.state().get("a"));
  trainer.step(kOnes);
  EXPECT_NE(numbers(trainer.state().get("a")), first);

  Trainer again(binding("y = Add(x, a)", "next = " + node));
  again.step(kOnes);
  EXPECT_EQ(numbers(again.state().get("a")), first) << "the same seed and step";

  Trainer pair(
      binding("y = Add(x, a)", "one = " + node + " other = " + node + " next = Sub(one, other)"));
  pair.step(kOnes);
  EXPECT_NE(numbers(pair.state().get("a")), Numbers(64, 0));
}

INSTANTIATE_TEST_SUITE_P(Operators, Drawn,
                         testing::Values("RandomNormal<shape = [64]>()",
                                         "RandomUniform<shape = [64]>()", "RandomNormalLike(x)",
                                         "RandomUniformLike(x)", "Dropout(x, half, on)"));

TEST(Random, MicroBatchesDrawTheirOwn) {
  // The gradient by x of a Dropout is its mask: twice the same mask would give 0 and 2 alone.
  Trainer trainer(binding("h = Mul(x, two) y = Dropout(h, half, on)", R"(
    loss = ReduceSum<keepdims = 0>(y)
    next = ai.onnx.preview.training.Gradient<xs = ["h"], y = "loss">(h))"));
  const std::vector<TensorMap> batches = {kOnes, kOnes};
  trainer.step_accumulated(batches, 0);
  const Numbers mean = numbers(trainer.state().get("a"));
  EXPECT_TRUE(std::ranges::any_of(mean, [](double each) { return each == 1; }));
}

}  // namespace
}  // namespace onward
