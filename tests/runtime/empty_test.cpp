// Every operator case with dimensions of size zero: where the reference kernels take it, the plan
// gives the same, forward and back.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "tests/ops/case_emptied.h"
#include "tests/runtime/both_ways.h"

namespace onward {
namespace {

std::string described(const Case& tested) {
  std::string text = tested.text;
  for (const CaseInput& input : tested.inputs) {
    text += fmt::format("; {} {}", input.name, to_string(input.dims));
  }
  return text;
}

TensorMap inputs_of(const Case& tested) {
  TensorMap inputs;
  uint64_t seed = 1;
  for (const CaseInput& input : tested.inputs) {
    inputs.emplace(input.name, case_tensor(input, seed++));
  }
  return inputs;
}

void expect_same(const Outcome& given, const Outcome& expected) {
  ASSERT_EQ(given.refusal, "");
  ASSERT_EQ(expected.refusal, "");
  for (const auto& [name, tensor] : given.outputs) {
    EXPECT_EQ(tensor.dtype(), expected.outputs.at(name).dtype()) << name;
    expect_close(tensor, expected.outputs.at(name), 1e-12, name);
  }
}

/// These have nothing to take elements from, or a shape or a number of elements of their own.
bool wants_elements(const Case& tested) {
  constexpr std::string_view kNames[] = {"AffineGrid",
                                         "AffineGrid 3 dimensions",
                                         "AffineGrid at the corners",
                                         "AffineGrid to a size that is an input",
                                         "DFT of one",
                                         "DequantizeLinear in blocks",
                                         "HannWindow of integers",
                                         "LinearAttention gated",
                                         "Pad edge",
                                         "Pad reflect",
                                         "Pad wrap",
                                         "Reshape",
                                         "TopK of its indices"};
  return std::ranges::find(kNames, tested.name) != std::end(kNames);
}

class EmptyTest : public testing::TestWithParam<Case> {};

TEST_P(EmptyTest, ForwardAndBack) {
  int computed = 0;
  for (const Case& tested : emptied_cases(GetParam())) {
    SCOPED_TRACE(described(tested));
    const TensorMap inputs = inputs_of(tested);
    const Outcome expected = interpreted(case_model(tested, Shapes::erased), inputs);
    if (!expected.refusal.empty()) continue;  // shapes that do not fit one another
    ++computed;
    expect_same(planned(case_model(tested, Shapes::erased), inputs), expected);
    if (!tested.has_gradient) continue;
    for (const Shapes shapes : {Shapes::fixed, Shapes::erased}) {
      const Model model = gradient_model(tested, shapes);
      const TensorMap tensors = case_tensors(tested);
      expect_same(planned(step_of(model), tensors), interpreted(step_of(model), tensors));
    }
  }
  EXPECT_EQ(computed == 0, wants_elements(GetParam())) << computed << " were computed";
}

std::string test_name(const testing::TestParamInfo<Case>& tested) {
  std::string name;
  for (const char letter : tested.param.name) name += std::isalnum(letter) ? letter : '_';
  return name + "_" + std::to_string(tested.index);
}

/// Random numbers by seed and shape, constants and the like have no dimension to empty.
std::vector<Case> cases_with_dimensions() {
  std::vector<Case> cases;
  for (const Case& each : all_cases()) {
    if (each.name == "Loop of no iteration") continue;  // declares a size in its body
    if (each.error.empty() && !emptied_cases(each).empty()) cases.push_back(each);
  }
  return cases;
}

TEST(EmptyWindowTest, IsRefused) {
  const Case tested{"", "y = MaxPool<kernel_shape = [1], pads = [1, 0]>(x)", {f64("x", {1, 2, 3})}};
  for (const auto& outcome : {planned(case_model(tested, Shapes::fixed), inputs_of(tested)),
                              interpreted(case_model(tested, Shapes::fixed), inputs_of(tested))}) {
    EXPECT_NE(outcome.refusal.find("a window could lie in it alone"), std::string::npos)
        << outcome.refusal;
  }
}

/// A number that is a tensor: of no elements, or of more than the one that is read.
class NumberTest : public testing::TestWithParam<Case> {};

TEST_P(NumberTest, IsRefusedUnlessItIsOne) {
  const Case& tested = GetParam();
  EXPECT_NE(planned(case_model(tested, Shapes::erased), inputs_of(tested)).refusal, "");
  EXPECT_NE(interpreted(case_model(tested, Shapes::erased), inputs_of(tested)).refusal, "");
}

std::vector<Case> cases_of_numbers() {
  std::vector<Case> cases;
  const CaseInput x = f64("x", {2, 4});
  for (const int64_t count : {0, 4}) {
    const auto size = static_cast<size_t>(count);
    const CaseInput number = f64("number", {count}, 0.25, 0.25);
    const CaseInput integer = i64("number", {count}, std::vector<double>(size, 3.0));
    const CaseInput zero = i64("zero", std::vector<int64_t>{}, {0});
    cases.push_back({"Clip from below", "y = Clip(x, number)", {x, number}});
    cases.push_back({"Clip from above", "y = Clip(x, , number)", {x, number}});
    cases.push_back({"Dropout", "y = Dropout(x, number, on)", {x, number, boolean("on", {}, {1})}});
    cases.push_back({"Dropout by",
                     "y = Dropout(x, , number)",
                     {x, boolean("number", {count}, std::vector<double>(size, 1.0))}});
    cases.push_back({"Pad", "y = Pad(x, pads, number)", {x, i64("pads", {1, 0, 0, 0}), number}});
    cases.push_back(
        {"Range", "r = Range(zero, number, number)\ny = Cast<to = 11>(r)", {zero, integer}});
    cases.push_back({"OneHot",
                     "y = OneHot(labels, number, values)",
                     {i64("labels", {0, 2}), integer, f64("values", {2})}});
    cases.push_back({"OneHot of",
                     "y = OneHot(labels, depth, number)",
                     {i64("labels", {0, 2}), i64("depth", std::vector<int64_t>{}, {3}), number}});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Numbers, NumberTest, testing::ValuesIn(cases_of_numbers()), test_name);

INSTANTIATE_TEST_SUITE_P(Cases, EmptyTest, testing::ValuesIn(cases_with_dimensions()), test_name);

}  // namespace
}  // namespace onward
