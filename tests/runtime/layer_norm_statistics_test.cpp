// LayerNormalization's mean and inverse deviation have the type that stash_type names, whatever x
// has, also where the backward pass reads them too.

#include <gtest/gtest.h>

#include "format/load.h"
#include "train/trainer.h"

namespace onward {
namespace {

TEST(LayerNormStatisticsTest, HaveTheStashType) {
  Trainer trainer(parse_text(R"(
<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>
g (double[1,2] x) => (double[1,2] y, float[1,1] mean, float[1,1] inverse) <double[2] scale = {1, 1}> {
  y, mean, inverse = LayerNormalization<epsilon = 0.0>(x, scale)
}
training_info {
  algorithm step () => (double loss, double[2] new_scale) {
    h = LayerNormalization<epsilon = 0.0>(x, scale)
    s = Add(h, y)
    q = Mul(s, s)
    loss = ReduceSum<keepdims = 0>(q)
    d = ai.onnx.preview.training.Gradient<xs = ["scale"], zs = ["x"], y = "loss">(scale, x)
    new_scale = Sub(scale, d)
  }
  update_binding { scale <- new_scale }
})"));
  const TensorMap inputs = {{"x", Tensor::of<double>({1, 2}, {1, 5})}};
  for (const TensorMap& outputs : {trainer.infer(inputs), trainer.step(inputs)}) {
    EXPECT_EQ(to_string(outputs.at("mean").type()), "f32[1,1]");
    EXPECT_EQ(outputs.at("mean").number(0), 3);
    EXPECT_EQ(to_string(outputs.at("inverse").type()), "f32[1,1]");
    EXPECT_EQ(outputs.at("inverse").number(0), 0.5);
  }
  EXPECT_EQ(trainer.state().get("scale").number(0), -7);  // loss = 4 scale^2 at each element
}

}  // namespace
}  // namespace onward
