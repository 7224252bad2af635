// What a gradient is taken by and what it holds fixed may be any values: inputs, results of nodes,
// one result of several. The walk back ends there, and the values given for them take their places.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"

namespace onward {
namespace {

using Numbers = std::vector<double>;

struct LeafCase {
  const char* name;
  const char* forward;   // from x = {1, 2, 3, 4} and w = {2, 3} to y
  const char* gradient;  // the Gradient's attributes and inputs
  Numbers dx, dw;        // its results
};

const LeafCase kCases[] = {
    {"a result of a node",
     "h = Mul(x, x)\n y = Mul(h, h)",
     R"(dx, dw = ai.onnx.preview.training.Gradient<xs = ["h", "w"], y = "loss">(h, w))",
     {2, 8, 18, 32},
     {0, 0}},
    {"one result of Split",
     "a, b = Split(x)\n y = Mul(a, b)",
     R"(dx, dw = ai.onnx.preview.training.Gradient<xs = ["a", "w"], y = "loss">(a, w))",
     {3, 4},
     {0, 0}},
    {"a value, and one result of its Split",
     "a, b = Split(x)\n p = Mul(a, b)\n y = Mul(p, w)",
     R"(dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "a"], y = "loss">(x, a))",
     {0, 0, 2, 6},
     {6, 12}},
    {"one result of Split held fixed",
     "a, b = Split(x)\n p = Mul(a, b)\n y = Mul(p, w)",
     R"(dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "w"], zs = ["b"], y = "loss">(x, w, b))",
     {6, 12, 0, 0},
     {3, 8}},
    {"a result held fixed whose node has no gradient",
     "h = ReduceProd(x)\n y = Mul(h, x)",
     R"(dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "w"], zs = ["h"], y = "loss">(x, w, h))",
     {24, 24, 24, 24},
     {0, 0}},
    {"a result held fixed that goes through a node without gradient",
     "h = Mul(x, x)\n s = ReduceProd(h)\n y = Add(s, x)",
     R"(dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "w"], zs = ["h"], y = "loss">(x, w, h))",
     {1, 1, 1, 1},
     {0, 0}},
    {"another value for what is held fixed",
     "y = Mul(x, c)",
     R"(dx, dw = ai.onnx.preview.training.Gradient<xs = ["x", "w"], zs = ["c"], y = "loss">(x, w, other))",
     {40, 30, 20, 10},
     {0, 0}},
    {"other values for two",
     "a, b = Split(x)\n y = Mul(a, w)",
     R"(dx, dw = ai.onnx.preview.training.Gradient<xs = ["a", "w"], y = "loss">(b, c2))",
     {5, 6},
     {3, 4}},
};

Numbers numbers(const Tensor& tensor) {
  const auto elements = tensor.data<double>();
  return {elements.begin(), elements.end()};
}

TEST(Leaves, EndTheWalkBack) {
  for (const LeafCase& tested : kCases) {
    const std::string text = fmt::format(
        R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
g (double[4] x, double[2] w) => (y) <double[4] c = {{4, 3, 2, 1}}, double[2] c2 = {{5, 6}}> {{ {} }}
training_info {{
  algorithm a () => (dx, dw) <double none = {{0}}, double[4] other = {{40, 30, 20, 10}}> {{
    total = ReduceSum<keepdims = 0>(y)
    nothing = Mul(w, none)
    rest = ReduceSum<keepdims = 0>(nothing)
    loss = Add(total, rest)
    {}
  }}
}})",
        tested.forward, tested.gradient);
    Problems ignored;  // results need no types here
    Model step = join_step(parse_text(text, {.problems = &ignored}), 0);
    replace_gradients(step);
    eval::Environment environment;
    environment.emplace(step.graph->inputs()[0], Tensor::of<double>({4}, {1, 2, 3, 4}));
    environment.emplace(step.graph->inputs()[1], Tensor::of<double>({2}, {2, 3}));
    const auto results = eval::outputs_of(*step.graph, std::move(environment));
    EXPECT_EQ(numbers(results[0]), tested.dx) << tested.name;
    EXPECT_EQ(numbers(results[1]), tested.dw) << tested.name;
  }
}

}  // namespace
}  // namespace onward
