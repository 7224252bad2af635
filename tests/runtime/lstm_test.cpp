// LSTMs of sizes for which weights are packed in panels and of others, of one example and more than
// there are threads: forward and both gradients against the reference, and by which kernels.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "both_ways.h"
#include "format/load.h"
#include "train/trainer.h"

namespace onward {
namespace {

struct Sizes {
  int64_t times, batch, input, hidden;
  const char* direction;
  const char* type;
  double tolerance;
};

/// The sum of squares of all that an LSTM gives, differentiated by all that it reads.
Model lstm_step(const Sizes& s) {
  const bool both = std::string_view(s.direction) == "bidirectional";
  const int64_t d = both ? 2 : 1, h = s.hidden;
  return parse_text(fmt::format(
      R"(
<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>
g ({0}[{1},{2},{3}] x, {0}[{4},{2},{5}] h0, {0}[{4},{2},{5}] c0, {0}[{4},{6},{3}] w,
   {0}[{4},{6},{5}] r, {0}[{4},{7}] b) => (
   {0}[{1},{4},{2},{5}] y, {0}[{4},{2},{5}] last_h, {0}[{4},{2},{5}] last_c) {{
  y, last_h, last_c = LSTM<hidden_size = {5}, direction = "{8}">(x, w, r, b, , h0, c0)
}}
training_info {{
  algorithm step () => ({0} loss, {0}[{4},{6},{3}] dw, {0}[{4},{6},{5}] dr, {0}[{4},{7}] db,
      {0}[{4},{2},{5}] dh, {0}[{4},{2},{5}] dc, {0}[{1},{2},{3}] dx) {{
    a = ReduceSumSquare<keepdims = 0>(y)
    e = ReduceSumSquare<keepdims = 0>(last_h)
    f = ReduceSumSquare<keepdims = 0>(last_c)
    loss = Sum(a, e, f)
    dw, dr, db, dh, dc, dx = ai.onnx.preview.training.Gradient<
      xs = ["w", "r", "b", "h0", "c0", "x"], y = "loss">(w, r, b, h0, c0, x)
  }}
}})",
      s.type, s.times, s.batch, s.input, d, h, 4 * h, 8 * h, s.direction));
}

Tensor random_tensor(const Type& type, std::mt19937& random) {
  std::vector<int64_t> dims;
  for (const Dim& dim : *type.shape) dims.push_back(*dim.value);
  std::vector<double> numbers(static_cast<size_t>(checked_element_count(dims)));
  for (double& number : numbers) number = std::uniform_real_distribution<>(-0.5, 0.5)(random);
  return Tensor::of<double>(dims, numbers);
}

class LstmTest : public testing::TestWithParam<Sizes> {};

TEST_P(LstmTest, EqualsTheReference) {
  const Model model = lstm_step(GetParam());
  std::mt19937 random(7);
  TensorMap inputs;
  const DType dtype = model.graph->inputs()[0]->type.dtype;
  for (Value* value : model.graph->inputs()) {
    inputs.emplace(value->name(), random_tensor(value->type, random));
  }
  inputs = rounded(std::move(inputs), dtype);
  const Model step = step_of(model);
  const Outcome expected = interpreted(step, inputs), given = planned(step_of(model), inputs),
                apart = planned_apart(step_of(model), inputs);
  ASSERT_EQ(expected.refusal + given.refusal + apart.refusal, "");
  ASSERT_EQ(expected.outputs.size(), 7U + 3U);
  for (const auto& [name, tensor] : expected.outputs) {
    expect_close(given.outputs.at(name), tensor, GetParam().tolerance, name);
    expect_close(apart.outputs.at(name), tensor, GetParam().tolerance, name);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LstmTest,
                         testing::Values(Sizes{5, 3, 4, 16, "forward", "float", 1e-5},
                                         Sizes{4, 1, 2, 4, "reverse", "float", 1e-5},
                                         Sizes{3, 7, 3, 20, "bidirectional", "float", 1e-5},
                                         Sizes{2, 40, 5, 48, "reverse", "float", 1e-5},
                                         Sizes{1, 2, 3, 32, "forward", "float", 1e-5},
                                         Sizes{6, 5, 3, 7, "bidirectional", "float", 1e-5},
                                         Sizes{6, 5, 3, 16, "bidirectional", "double", 1e-12},
                                         Sizes{3, 2, 3, 5, "reverse", "double", 1e-12}),
                         [](const auto& info) {
                           const Sizes& s = info.param;
                           return fmt::format("{}_{}_{}_{}_{}_{}", s.times, s.batch, s.input,
                                              s.hidden, s.direction, s.type);
                         });

TEST(LstmTest, IsOneKernelForwardAndOneBack) {
  Trainer trainer(parse_text(R"(
<ir_version: 10, opset_import: ["" : 21, "ai.onnx.preview.training" : 1]>
g (float[3,N,2] x, float[1,16,2] w) => (float[3,1,N,4] y) <float[1,16,4] r = {
  0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1,
  0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1,
  0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1,
  0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}> {
  y = LSTM<hidden_size = 4>(x, w, r)
}
training_info {
  algorithm step () => (float loss, float[1,16,4] new_r) {
    loss = ReduceSumSquare<keepdims = 0>(y)
    dr = ai.onnx.preview.training.Gradient<xs = ["r"], zs = ["x", "w"], y = "loss">(r, x, w)
    new_r = Sub(r, dr)
  }
  update_binding { r <- new_r }
})"));
  trainer.step({{"x", Tensor::of<float>({3, 1, 2}, {1, 2, 3, 4, 5, 6})},
                {"w", Tensor::of<float>({1, 16, 2}, std::vector<float>(32, 0.1F))}});
  const std::string said = trainer.explain();
  const auto count = [&](const std::string& text) {
    size_t found = 0;
    for (size_t at = said.find(text); at != std::string::npos; at = said.find(text, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("(LstmSteps)"), 2U) << said;  // the weights in panels, and the steps
  EXPECT_EQ(count("(LstmStepsGrad)"), 1U) << said;
  EXPECT_EQ(count("Scan"), 0U) << said;
}

}  // namespace
}  // namespace onward
