// Expansions of small floats whose sums, powers and products leave their range, though the results
// do not: in float16 they give what they give in float32, rounded once.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "eval/interpreter.h"
#include "format/load.h"
#include "ops/builder.h"
#include "ops/infer_step.h"

namespace onward {
namespace {

struct SmallFloatCase {
  const char* name;
  const char* node;  // from h of 1 x 2 x 3 to r
};

constexpr SmallFloatCase kCases[] = {
    {"Einsum", "r = Einsum<equation = \"abc,abc,d,d->abc\">(h, h, t, t)"},
    {"Gelu", "r = Gelu<approximate = \"tanh\">(h)"},
    {"GlobalLpPool", "r = GlobalLpPool(l)"},
    {"HardSigmoid", "r = HardSigmoid<alpha = -0.001, beta = 60.0>(h)"},
    {"HardSwish", "r = HardSwish(h)"},
    {"InstanceNormalization", "r = InstanceNormalization(h, s, s)"},
    {"LRN", "r = LRN<size = 3, alpha = 0.5>(h)"},
    {"LpNormalization", "r = LpNormalization(h)"},
    {"LpNormalization p", "r = LpNormalization<p = 1>(h)"},
    {"LpPool", "r = LpPool<kernel_shape = [2], p = 3>(l)"},
    {"Mean", "r = Mean(h, h, h)"},
    {"MeanVarianceNormalization", "r = MeanVarianceNormalization<axes = [2]>(h)"},
    {"ReduceL2", "r = ReduceL2(l)"},
    {"ReduceLogSum", "r = ReduceLogSum(a)"},
    {"ReduceLogSumExp", "r = ReduceLogSumExp(h)"},
    {"ReduceSumSquare", "r = ReduceSumSquare(small)"},
};

/// The result for x cast to a type, computed in it, and cast to float32.
Tensor computed_in(DType dtype, const char* node) {
  const int to = static_cast<int>(dtype);
  Model model = parse_text(fmt::format(
      "<ir_version: 10, opset_import: [\"\" : {}]> g (float[1,2,3] x) => (float[] y) {{\n"
      "h = Cast<to = {}>(x)\n a = Abs(h)\n"
      "k = Constant<value = float[1] {{0.0001}}>()\n t = Cast<to = {}>(k)\n small = Mul(h, t)\n"
      "i = Constant<value = float {{0.25}}>()\n j = Cast<to = {}>(i)\n l = Mul(h, j)\n"
      "o = Constant<value = float[2] {{1, -2}}>()\n s = Cast<to = {}>(o)\n"
      "{}\n y = Cast<to = 1>(r) }}",
      inner_opset(), to, to, to, to, node));
  infer_step_types(model);
  eval::Environment environment;
  environment.emplace(model.graph->inputs()[0],
                      Tensor::of<float>({1, 2, 3}, {60000, -30000, 20000, 300, -55000, 0.25F}));
  return eval::outputs_of(*model.graph, std::move(environment))[0];
}

TEST(SmallFloats, AreComputedInFloat32) {
  for (const SmallFloatCase& tested : kCases) {
    const Tensor small = computed_in(DType::f16, tested.node);
    const Tensor wide = computed_in(DType::f32, tested.node);
    ASSERT_EQ(small.size(), wide.size()) << tested.name;
    for (int64_t i = 0; i < wide.size(); ++i) {
      const double rounding = std::ldexp(std::abs(wide.number(i)), -9) + 1e-4;
      EXPECT_NEAR(small.number(i), wide.number(i), rounding) << tested.name << " at " << i;
    }
  }
}

}  // namespace
}  // namespace onward
