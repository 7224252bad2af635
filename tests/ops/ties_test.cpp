// Gradients that differences can't judge: at ties and kinks, where a function has none, and of
// results in float32. What tied elements share adds up to the whole.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"

namespace onward {
namespace {

struct TieCase {
  const char* name;
  const char* nodes;  // from x (and z) to y
  std::vector<double> x, z;
  std::vector<double> dx, dz;  // of the sum of y
};

const TieCase kTies[] = {
    {"ReduceMax", "y = ReduceMax(x)", {3, 1, 3, 2}, {0, 0, 0, 0}, {0.5, 0, 0.5, 0}, {0, 0, 0, 0}},
    {"ReduceMin", "y = ReduceMin(x)", {3, 1, 1, 2}, {0, 0, 0, 0}, {0, 0.5, 0.5, 0}, {0, 0, 0, 0}},
    {"ReduceProd with a zero",
     "y = ReduceProd(x)",
     {2, 0, 3, 4},
     {0, 0, 0, 0},
     {0, 24, 0, 0},
     {0, 0, 0, 0}},
    {"ReduceProd with two zeros",
     "y = ReduceProd(x)",
     {2, 0, 0, 4},
     {0, 0, 0, 0},
     {0, 0, 0, 0},
     {0, 0, 0, 0}},
    {"ReduceL2 of zeros",
     "y = ReduceL2(x)",
     {0, 0, 0, 0},
     {0, 0, 0, 0},
     {0, 0, 0, 0},
     {0, 0, 0, 0}},
    {"ReduceL1", "y = ReduceL1(x)", {0, 1, -1, 2}, {0, 0, 0, 0}, {0, 1, -1, 1}, {0, 0, 0, 0}},
    {"Elu", "y = Elu<alpha = 0.5>(x)", {0, 1, 2, 0}, {0, 0, 0, 0}, {0.5, 1, 1, 0.5}, {0, 0, 0, 0}},
    {"Celu", "y = Celu<alpha = 0.5>(x)", {0, 1, 2, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 0, 0}},
    {"Selu",
     "y = Selu<alpha = 0.5, gamma = 3.0>(x)",
     {0, 1, 2, 0},
     {0, 0, 0, 0},
     {1.5, 3, 3, 1.5},
     {0, 0, 0, 0}},
    {"HardSigmoid",
     "y = HardSigmoid<alpha = 0.5, beta = 0.5>(x)",
     {-1, 0, 1, 2},
     {0, 0, 0, 0},
     {0, 0.5, 0, 0},
     {0, 0, 0, 0}},
    {"PRelu", "y = PRelu(x, z)", {0, 2, -3, 0}, {3, 4, 5, -1}, {3, 1, 5, -1}, {0, 0, -3, 0}},
    {"Shrink",
     "y = Shrink<lambd = 1.0, bias = 0.5>(x)",
     {-1, 1, -2, 3},
     {0, 0, 0, 0},
     {0, 0, 1, 1},
     {0, 0, 0, 0}},
    {"ThresholdedRelu",
     "y = ThresholdedRelu<alpha = 2.0>(x)",
     {2, 3, -1, 1},
     {0, 0, 0, 0},
     {0, 1, 0, 0},
     {0, 0, 0, 0}},
    {"Softsign",
     "y = Softsign(x)",
     {0, 1, -1, 3},
     {0, 0, 0, 0},
     {1, 0.25, 0.25, 0.0625},
     {0, 0, 0, 0}},
    {"ReduceMax of rows",
     "s = Constant<value = int64[2] {2, 2}>()\n a = Constant<value = int64[1] {1}>()\n"
     "m = Reshape(x, s)\n y = ReduceMax<keepdims = 0>(m, a)",
     {5, 5, 1, 7},
     {0, 0, 0, 0},
     {0.5, 0.5, 0, 1},
     {0, 0, 0, 0}},
    {"Max", "y = Max(x, z)", {1, 2, 3, 4}, {1, 5, 3, 0}, {0.5, 0, 0.5, 1}, {0.5, 1, 0.5, 0}},
    {"Min", "y = Min(x, z)", {1, 2, 3, 4}, {1, 5, 3, 0}, {0.5, 1, 0.5, 0}, {0.5, 0, 0.5, 1}},
    {"Max of three, two of which are one value",
     "y = Max(x, z, x)",
     {1, 2, 3, 4},
     {1, 5, 3, 0},
     {2. / 3, 0, 2. / 3, 1},
     {1. / 3, 1, 1. / 3, 0}},
    {"MaxPool takes the first",
     "s = Constant<value = int64[3] {1, 1, 4}>()\n r = Reshape(x, s)\n"
     "y = MaxPool<kernel_shape = [2]>(r)",
     {3, 3, 1, 1},
     {0, 0, 0, 0},
     {1, 1, 1, 0},
     {0, 0, 0, 0}},
    {"Relu", "y = Relu(x)", {0, 1, -1, 0}, {0, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}},
    {"Abs", "y = Abs(x)", {0, 1, -1, 2}, {0, 0, 0, 0}, {0, 1, -1, 1}, {0, 0, 0, 0}},
    {"Pow with an exponent of zero",
     "y = Pow(x, z)",
     {0, 2, 0, 3},
     {0, 0, 2, 1},
     {0, 0, 0, 1},
     {0, std::log(2.), 0, 3 * std::log(3.)}},
    {"the mean of LayerNormalization",
     "n, m = LayerNormalization(x, z)\n y = Cast<to = 11>(m)",
     {1, 5, 3, 7},
     {1, 1, 1, 1},
     {0.25, 0.25, 0.25, 0.25},
     {0, 0, 0, 0}},
    {"the inverse deviation of LayerNormalization",
     "n, m, d = LayerNormalization<epsilon = 0.0>(x, z)\n y = Cast<to = 11>(d)",
     {1, 5, 1, 5},
     {1, 1, 1, 1},
     {0.0625, -0.0625, 0.0625, -0.0625},
     {0, 0, 0, 0}},
};

TEST(Ties, ShareTheGradient) {
  for (const TieCase& tested : kTies) {
    // z is always read, so that it has a gradient.
    const std::string text = fmt::format(
        R"(<ir_version: 10, opset_import: ["" : 20, "ai.onnx.preview.training" : 1]>
g (double[4] x, double[4] z) => (y) {{ {} }}
training_info {{ algorithm a () => (double[4] dx, double[4] dz) <double none = {{0}}> {{
  total = ReduceSum<keepdims = 0>(y)
  both = Add(x, z) nothing = Mul(both, none) rest = ReduceSum<keepdims = 0>(nothing)
  loss = Add(total, rest)
  dx, dz = ai.onnx.preview.training.Gradient<xs = ["x", "z"], y = "loss">(x, z)
}} }})",
        tested.nodes);
    Problems ignored;  // y needs no type here
    Model step = join_step(parse_text(text, {.problems = &ignored}), 0);
    replace_gradients(step);
    eval::Environment environment;
    environment.emplace(step.graph->inputs()[0], Tensor::of<double>({4}, tested.x));
    environment.emplace(step.graph->inputs()[1], Tensor::of<double>({4}, tested.z));
    const auto results = eval::outputs_of(*step.graph, std::move(environment));
    for (size_t i = 0; i < 4; ++i) {
      const auto at = static_cast<int64_t>(i);
      EXPECT_DOUBLE_EQ(results[0].number(at), tested.dx[i]) << tested.name << ", dx " << i;
      EXPECT_DOUBLE_EQ(results[1].number(at), tested.dz[i]) << tested.name << ", dz " << i;
    }
  }
}

}  // namespace
}  // namespace onward
