// Gradients through rounding are an estimate that is agreed on, as of torch.fake_quantize*: that of
// x / scale where the rounded number is in the type's range, zero beyond.

#include "ops/quantization.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "opset/lift.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

using Named = std::map<std::string, Tensor>;

/// The gradients of the sum of y^2 by x and s.
Named gradients_of(const Case& tested) {
  Model step = join_step(gradient_model(tested, Shapes::fixed), 0);
  replace_gradients(step);
  eval::Environment environment;
  for (const Value* input : step.graph->inputs()) {
    const auto* given = std::ranges::find(tested.inputs, input->name(), &CaseInput::name).base();
    const bool is_weight = given == tested.inputs.data() + tested.inputs.size();
    environment.emplace(input, is_weight ? Tensor::scalar<float>(1) : case_tensor(*given, 1));
  }
  const auto results = eval::outputs_of(*step.graph, std::move(environment));
  Named gradients;
  for (size_t i = 0; i < results.size(); ++i) {
    gradients.emplace(step.graph->outputs()[i]->name(), results[i]);
  }
  return gradients;
}

/// x in all scales of a row, next to the ends of the range and on ties.
struct Form {
  std::string name, attributes;
  DType dtype;
  std::vector<int64_t> scale_dims;
  std::vector<double> scales, zeros;
  std::vector<size_t> which;  // the scale of each element
};

class StraightThrough : public testing::TestWithParam<Form> {};

TEST_P(StraightThrough, WithinTheRange) {
  const Form& form = GetParam();
  const QuantizedRange range = quantized_range(form.dtype);
  std::vector<double> x;
  for (size_t i = 0; i < form.which.size(); ++i) {
    // Steps from the zero point: 2.3, -1.6, and on both ends half a step beyond, and a bit more.
    const double low = range.low - form.zeros[form.which[i]],
                 high = range.high - form.zeros[form.which[i]];
    const double steps[] = {2.3, -1.6, high + 0.5, high + 0.75, low - 0.5, low - 0.75, high, low};
    x.push_back(steps[i % 8] * form.scales[form.which[i]]);
  }
  const auto columns = static_cast<int64_t>(x.size() / 2);
  // Gradient takes no small integers, but what it does not name may be anything.
  Case tested{"",
              fmt::format("z = Cast<to = {1}>(zeros)\n  q = QuantizeLinear<{0}>(x, s, z)\n"
                          "  y = DequantizeLinear<{0}>(q, s, z)",
                          form.attributes, static_cast<int>(form.dtype)),
              {{.name = "x", .dtype = DType::f32, .dims = {2, columns}, .values = x},
               {.name = "s", .dtype = DType::f32, .dims = form.scale_dims, .values = form.scales},
               i64("zeros", form.scale_dims, form.zeros)}};
  tested.float_type = DType::f32;
  const Named gradients = gradients_of(tested);
  std::vector<double> ds(form.scales.size(), 0.0);
  for (size_t i = 0; i < x.size(); ++i) {
    const double scale = form.scales[form.which[i]], zero = form.zeros[form.which[i]];
    const double v = x[i] / scale, rounded = std::nearbyint(v) + zero;
    const bool inside = rounded >= range.low && rounded <= range.high;
    const double q = std::clamp(rounded, range.low, range.high), y = (q - zero) * scale;
    EXPECT_FLOAT_EQ(gradients.at("d_x").number(static_cast<int64_t>(i)), inside ? 2 * y : 0)
        << form.name << ", element " << i;
    ds[form.which[i]] += 2 * y * (q - zero - (inside ? v : 0));
  }
  for (size_t i = 0; i < ds.size(); ++i) {
    EXPECT_NEAR(gradients.at("d_s").number(static_cast<int64_t>(i)), ds[i],
                1e-5 * std::max(1.0, std::fabs(ds[i])))
        << form.name;
  }
}

// Scales are powers of two, so that ties are ties.
const Form kForms[] = {
    {"one_scale", "axis = 1", DType::u8, {}, {0.25}, {100}, std::vector<size_t>(16, 0)},
    {"an_odd_zero_point", "axis = 1", DType::i8, {}, {0.25}, {-3}, std::vector<size_t>(16, 0)},
    {"sixteen_bits", "axis = 1", DType::u16, {}, {0.0625}, {32768}, std::vector<size_t>(16, 0)},
    {"four_bits", "axis = 1", DType::i4, {}, {0.5}, {1}, std::vector<size_t>(16, 0)},
    {"by_rows",
     "axis = 0",
     DType::i8,
     {2},
     {0.25, 2},
     {4, -7},
     {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"in_blocks",
     "axis = 1, block_size = 5",
     DType::u8,
     {2, 2},
     {0.25, 0.5, 1, 2},
     {0, 255, 128, 7},
     {0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3}},
};

INSTANTIATE_TEST_SUITE_P(Forms, StraightThrough, testing::ValuesIn(kForms),
                         [](const auto& tested) { return tested.param.name; });

/// A gradient passes what moves quantized elements, too.
TEST(Quantization, GradientsReachThroughWhatMovesElements) {
  Case tested{"",
              "q = QuantizeLinear(x, s, z)\n  t = Transpose<perm = [1, 0]>(q)\n"
              "  y = DequantizeLinear(t, s, z)",
              {{.name = "x", .dtype = DType::f32, .dims = {1, 2}, .values = {1, 100}},
               {.name = "s", .dtype = DType::f32, .dims = {}, .values = {0.5}},
               {.name = "z", .dtype = DType::i8, .dims = {}, .values = {0}}}};
  tested.float_type = DType::f32;
  const Tensor dx = gradients_of(tested.differentiated_by({"x"})).at("d_x");
  ASSERT_EQ(dx.dims(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(dx.number(0), 2);
  EXPECT_EQ(dx.number(1), 0);
}

/// Nothing but zeros has a range of nothing, by which there is no dividing.
TEST(Quantization, ZerosAreQuantizedBySteps) {
  Model model = parse_text(R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[N] x) => (uint8[N] q, float scale, uint8 zero_point) {
  q, scale, zero_point = DynamicQuantizeLinear(x)
})");
  lift(model);
  for (const int64_t size : {0, 3}) {
    eval::Environment environment;
    environment.emplace(model.graph->inputs()[0],
                        Tensor::of<float>({size}, std::vector<float>(static_cast<size_t>(size))));
    const auto results = eval::outputs_of(*model.graph, std::move(environment));
    EXPECT_EQ(results[0].dims(), std::vector<int64_t>{size});
    for (int64_t i = 0; i < size; ++i) EXPECT_EQ(results[0].number(i), 0);
    EXPECT_EQ(results[1].number(0), 1);
    EXPECT_EQ(results[2].number(0), 0);
  }
}

}  // namespace
}  // namespace onward
