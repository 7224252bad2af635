// Operands that are broadcast to a tensor whose dimensions are all of one size: a row, a column and
// a plane have as many elements as each other, so that a kernel that went by their number would
// take one for the other. Every shape that can be broadcast, forward and back.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/ops/case.h"
#include "tests/runtime/both_ways.h"

namespace onward {
namespace {

using Dims = std::vector<int64_t>;

struct Tested {
  const char* name;
  const char* text;
  std::vector<Dims> x;
  std::vector<CaseInput> others = {};
};

const Dims kSquare = {4, 4}, kCube = {4, 4, 4}, kThin = {4, 1, 4}, kFlat = {4, 4, 1};

std::vector<Tested> tested_nodes() {
  const CaseInput row = f64("s", {4}), other = f64("w", {4, 4});
  return {
      {"Add", "y = Add(x, o)", {kSquare, kCube}},
      {"Gemm", "y = Gemm(x, w, o)", {kSquare}, {other}},
      {"GemmTransposed", "y = Gemm<transB = 1>(x, w, o)", {kSquare}, {other}},
      {"LayerNormBias", "y = LayerNormalization(x, s, o)", {kSquare, kCube, kThin}, {row}},
      {"LayerNormScale", "y = LayerNormalization(x, o)", {kSquare, kCube, kThin, kFlat}},
      {"LayerNormScaleFromOne", "y = LayerNormalization<axis = 1>(x, o)", {kCube, kThin, kFlat}},
      {"LayerNormScaleOfAll", "y = LayerNormalization<axis = 0>(x, o)", {kSquare, kCube}},
      {"Where", "c = Greater(x, o)\ny = Where(c, x, o)", {kSquare, kCube}},
  };
}

/// Every shape that can be broadcast to these dimensions.
std::vector<Dims> broadcastable(const Dims& to) {
  std::vector<Dims> shapes;
  for (size_t rank = 0; rank <= to.size(); ++rank) {
    for (size_t kept = 0; kept < size_t{1} << rank; ++kept) {
      Dims shape(to.end() - static_cast<std::ptrdiff_t>(rank), to.end());
      for (size_t d = 0; d < rank; ++d) {
        if ((kept >> d & 1U) == 0) shape[d] = 1;
      }
      shapes.push_back(std::move(shape));
    }
  }
  return shapes;
}

class SquareOperandsTest : public testing::TestWithParam<Tested> {};

TEST_P(SquareOperandsTest, AreBroadcastByShape) {
  for (const Dims& x : GetParam().x) {
    for (const Dims& operand : broadcastable(x)) {
      Case tested{GetParam().name, GetParam().text, {f64("x", x), f64("o", operand)}};
      for (const CaseInput& input : GetParam().others) tested.inputs.push_back(input);
      const TensorMap tensors = case_tensors(tested);
      const Outcome expected =
          interpreted(step_of(gradient_model(tested, Shapes::fixed)), rounded(tensors, DType::f64));
      ASSERT_EQ(expected.refusal, "");
      for (const DType dtype : {DType::f64, DType::f32}) {
        SCOPED_TRACE(fmt::format("{}: x {}, o {}, {}", tested.text, to_string(x),
                                 to_string(operand), name(dtype)));
        const Case typed = dtype == DType::f32 ? tested.in_f32() : tested;
        const Model model = gradient_model(typed, Shapes::fixed);
        const Outcome given = planned(step_of(model), rounded(tensors, dtype));
        ASSERT_EQ(given.refusal, "");
        for (const auto& [output, tensor] : given.outputs) {
          expect_close(tensor, expected.outputs.at(output), dtype == DType::f32 ? 2e-4 : 1e-11,
                       output);
        }
      }
    }
  }
}

std::string test_name(const testing::TestParamInfo<Tested>& tested) { return tested.param.name; }

INSTANTIATE_TEST_SUITE_P(Nodes, SquareOperandsTest, testing::ValuesIn(tested_nodes()), test_name);

}  // namespace
}  // namespace onward
