// Outputs are copied once, from where a plan computes them into the tensor that the caller gets:
// counted as allocations of their size.

#include <gtest/gtest.h>

#include <algorithm>

#include "format/load.h"
#include "tests/train/large_allocations.h"
#include "train/trainer.h"

namespace onward {
namespace {

constexpr int64_t kElements = 1 << 16;
constexpr size_t kBytes = kElements * sizeof(float);

const char* const kModel = R"(<ir_version: 10,
  opset_import: ["" : 22, "ai.onnx.preview.training" : 1]>
g (float[N] x) => (float[N] y, float[N] z) <float w = {2}> { y = Mul(x, w)  z = Exp(y) }
training_info {
  algorithm a () => (float loss, float[N] seen, float w_new) <float rate = {0.1}> {
    seen = Neg(y)
    loss = ReduceMean<keepdims = 0>(seen)
    dw = ai.onnx.preview.training.Gradient<xs = ["w"], zs = ["x"], y = "loss">(w, x)
    change = Mul(rate, dw)
    w_new = Sub(w, change)
  }
  update_binding { w <- w_new }
})";

TEST(Outputs, AreCopiedOnce) {
  Trainer trainer(parse_text(kModel));
  const TensorMap inputs = {
      {"x", Tensor::of<float>({kElements}, std::vector<float>(kElements, 0.5F))}};
  TensorMap outputs;
  const auto infer = [&] { outputs = trainer.infer(inputs); };
  infer();  // makes the plan and its memory
  EXPECT_EQ(large_allocations(kBytes, infer), 2);
  EXPECT_EQ(outputs.at("y").size(), kElements);

  const auto step = [&] { outputs = trainer.step(inputs); };
  step();
  const auto large = std::ranges::count_if(
      outputs, [](const auto& output) { return output.second.size() == kElements; });
  EXPECT_EQ(large_allocations(kBytes, step), large);
  EXPECT_GT(large, 0);

  const TensorMap micro_batches[] = {inputs, inputs};
  const auto accumulated = [&] { outputs = trainer.step_accumulated(micro_batches); };
  accumulated();
  EXPECT_EQ(large_allocations(kBytes, accumulated), 2 * large);  // once for each micro-batch
}

/// Of what is given out under two names there is one copy.
TEST(Outputs, OfOneValueShareTheirMemory) {
  Trainer trainer(parse_text(R"(<ir_version: 10, opset_import: ["" : 22]>
g (float[N] x) => (float[N] y, float[N] z) { y = Neg(x)  z = Neg(x) })"));
  const TensorMap outputs = trainer.infer({{"x", Tensor::of<float>({2}, {1, 2})}});
  EXPECT_TRUE(outputs.at("y").shares_bytes_with(outputs.at("z")));
  EXPECT_EQ(outputs.at("z").number(1), -2);
}

}  // namespace
}  // namespace onward
