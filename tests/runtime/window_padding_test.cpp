// Windows with every kind of padding: auto_pad and pads, which exclude each other unless the latter
// are 0, and padding of whole windows, which libraries do not count on. What is taken stays within
// its memory and gives what the reference kernels give.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/ops/case.h"
#include "tests/runtime/both_ways.h"

namespace onward {
namespace {

struct Tested {
  const char* name;
  const char* node;  // {} stands for the attributes of padding
  std::vector<CaseInput> inputs;
};

std::vector<Tested> tested_nodes() {
  const CaseInput x = f64("x", {2, 3, 7, 6}), w = f64("w", {4, 3, 3, 2});
  return {
      {"AveragePool", "y = AveragePool<kernel_shape = [3, 2]{}>(x)", {x}},
      {"AveragePoolDilated",
       "y = AveragePool<kernel_shape = [3, 2], dilations = [2, 1]{}>(x)",
       {x}},
      {"AveragePoolStrides", "y = AveragePool<kernel_shape = [3, 2], strides = [2, 2]{}>(x)", {x}},
      {"Conv", "y = Conv<strides = [1, 1]{}>(x, w)", {x, w}},
      {"ConvDilated", "y = Conv<dilations = [2, 1]{}>(x, w)", {x, w}},
      {"ConvStrides", "y = Conv<strides = [2, 2]{}>(x, w)", {x, w}},
      {"MaxPool", "y = MaxPool<kernel_shape = [3, 2]{}>(x)", {x}},
      {"MaxPoolDilated", "y = MaxPool<kernel_shape = [3, 2], dilations = [2, 1]{}>(x)", {x}},
      {"MaxPoolStrides", "y = MaxPool<kernel_shape = [3, 2], strides = [2, 2]{}>(x)", {x}},
  };
}

std::string filled(const char* node, const std::string& attributes) {
  return fmt::format(fmt::runtime(node), attributes);
}

/// Whether plans of both precisions give for one case what the reference kernels give for the
/// other.
void expect_same(const Case& tested, const Case& reference) {
  const TensorMap tensors = case_tensors(reference);
  const Outcome expected =
      interpreted(step_of(gradient_model(reference, Shapes::fixed)), rounded(tensors, DType::f64));
  ASSERT_EQ(expected.refusal, "");
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Case typed = dtype == DType::f32 ? tested.in_f32() : tested;
    const Model model = gradient_model(typed, Shapes::fixed);
    const Outcome given = planned_apart(step_of(model), rounded(tensors, dtype));
    ASSERT_EQ(given.refusal, "");
    for (const auto& [name, tensor] : given.outputs) {
      expect_close(tensor, expected.outputs.at(name), dtype == DType::f32 ? 2e-5 : 1e-11, name);
    }
  }
}

TensorMap inputs_of(const Case& tested) {
  TensorMap inputs;
  uint64_t seed = 1;
  for (const CaseInput& input : tested.inputs) {
    inputs.emplace(input.name, case_tensor(input, seed++));
  }
  return inputs;
}

class WindowPaddingTest : public testing::TestWithParam<Tested> {};

TEST_P(WindowPaddingTest, AutoPadAndPadsExcludeEachOther) {
  for (const char* mode : {"VALID", "SAME_UPPER", "SAME_LOWER"}) {
    const auto padded = [&](const char* pads) {
      const std::string attributes = fmt::format(", auto_pad = \"{}\"{}", mode, pads);
      return Case{"", filled(GetParam().node, attributes), GetParam().inputs};
    };
    expect_same(padded(", pads = [0, 0, 0, 0]"), padded(""));
    for (const char* pads : {"0, 0, 1, 0", "1, 1, 0, 0", "2, 1, 2, 1"}) {
      const Case tested = padded(fmt::format(", pads = [{}]", pads).c_str());
      SCOPED_TRACE(tested.text);
      const TensorMap inputs = inputs_of(tested);
      for (const Outcome& refused : {planned(case_model(tested, Shapes::fixed), inputs),
                                     planned(case_model(tested, Shapes::erased), inputs),
                                     interpreted(case_model(tested, Shapes::erased), inputs)}) {
        EXPECT_NE(refused.refusal.find("exclude each other"), std::string::npos) << refused.refusal;
      }
    }
  }
}

const char* const kWholeWindows[] = {
    "pads = [3, 2, 0, 0]",
    "pads = [5, 9, 4, 0]",
    "pads = [0, 40, 0, 40], strides = [1, 20]",
    "pads = [6, 0, 7, 0], dilations = [2, 1], strides = [3, 1]",
    "pads = [2000000000, 0, 2000000000, 0], strides = [1000000001, 1]",
};

TEST(WholeWindowPaddingTest, IsTakenByConvolutions) {
  for (const char* attributes : kWholeWindows) {
    for (const int64_t outputs : {4, 8}) {  // 8: gradients by weights in registers
      const Case tested{
          "",
          fmt::format("y = Conv<{}>(x, w, b)", attributes),
          {f64("x", {2, 3, 7, 6}), f64("w", {outputs, 3, 3, 2}), f64("b", {outputs})}};
      SCOPED_TRACE(tested.text);
      expect_same(tested, tested);
    }
  }
}

TEST(WholeWindowPaddingTest, IsRefusedWhereNoMemoryHoldsTheResult) {
  for (const char* pads : {"2147483647, 0, 2147483647, 0", "2147483647, 2147483647, 0, 0"}) {
    const Case tested{"",
                      fmt::format("y = Conv<pads = [{}]>(x, w)", pads),
                      {f64("x", {1, 1, 5, 5}), f64("w", {1, 1, 2, 2})}};
    for (const Case& typed : {tested, tested.in_f32()}) {
      const Outcome outcome = planned(case_model(typed, Shapes::erased), inputs_of(typed));
      EXPECT_NE(outcome.refusal.find("in y (Conv)"), std::string::npos) << outcome.refusal;
    }
  }
}

std::string test_name(const testing::TestParamInfo<Tested>& tested) { return tested.param.name; }

INSTANTIATE_TEST_SUITE_P(Nodes, WindowPaddingTest, testing::ValuesIn(tested_nodes()), test_name);

}  // namespace
}  // namespace onward
