// Steps that tempt a pass into a mistake: what is planned computes what the reference kernels
// compute, node by node, on the step as it was written.

#include "passes/passes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "runtime/program.h"

namespace onward {
namespace {

struct Tempting {
  const char* name;
  const char* nodes;  // the inference graph, from x [4,4], l (labels) and the constants below
  const char* outputs;
  const char* loss = "";  // where given, its gradient by x is an output too
};

const Tempting kTempting[] = {
    {"nodes that differ in a float", "a = LeakyRelu<alpha = 0.1>(x) y = LeakyRelu<alpha = 0.3>(x)",
     "a, y"},
    {"nodes that differ in an integer", "a = Softmax<axis = 0>(x) y = Softmax<axis = 1>(x)",
     "a, y"},
    {"constants that differ in shape alone", "a = MatMul(x, column) y = MatMul(a, row)", "a, y"},
    {"constants that differ in type alone",
     "i = Cast<to = 7>(x) a = Mul(i, whole_two) y = Mul(x, two)", "a, y"},
    {"a constant that begins with one", "y = Mul(x, rising)", "y"},
    {"a divisor that begins with one", "y = Div(x, rising)", "y"},
    {"times one, broadcast", "s = ReduceMax<keepdims = 0>(x) y = Mul(s, ones)", "y"},
    {"a transpose that swaps nothing", "p = MatMul(x, square) y = Transpose<perm = [0, 1]>(p)",
     "y"},
    {"a transposed product", "p = MatMul(x, wide) y = Transpose<perm = [1, 0]>(p)", "y"},
    {"a transposed product with a factor",
     "p = Gemm<alpha = 0.5, transB = 1>(x, square) y = Transpose<perm = [1, 0]>(p)", "y"},
    {"a product of transposes", "t = Transpose<perm = [1, 0]>(x) y = MatMul(t, wide)", "y"},
    {"a comparison beside a Relu", "r = Relu(x) g = Greater(x, minus_one) y = Where(g, r, x)", "y"},
    {"a mask by another number", "r = Relu(x) h = Greater(x, two) y = Where(h, x, r)", "y", "y"},
    {"an expanded operand that gives the shape",
     "e = Expand(vector, shape) f = Expand(row, shape) y = Add(e, f)", "y"},
    {"two normalizations of one input that differ in epsilon",
     "a, am, av = BatchNormalization<training_mode = 1, epsilon = 0.5>(x, scale, bias, mean, "
     "variance) "
     "b, bm, bv = BatchNormalization<training_mode = 1, epsilon = 0.125>(x, scale, bias, mean, "
     "variance) "
     "c = Mul(a, rising) d = Mul(b, b) y = Add(c, d)",
     "y", "y"},
    {"two frozen normalizations that differ in epsilon",
     "a = BatchNormalization<epsilon = 0.5>(x, scale, bias, mean, variance) "
     "b = BatchNormalization<epsilon = 0.125>(x, scale, bias, mean, variance) "
     "c = Mul(a, rising) d = Mul(b, b) y = Add(c, d)",
     "y", "y"},
    {"layers that differ in epsilon",
     "a = LayerNormalization<epsilon = 0.5>(x, scale, bias) "
     "b = LayerNormalization<epsilon = 0.125>(x, scale, bias) "
     "c = Mul(a, rising) d = Mul(b, b) y = Add(c, d)",
     "y", "y"},
    {"a normalization and a Relu under a plain sum",
     "n, m, v = BatchNormalization<training_mode = 1>(x, scale, bias, mean, variance) y = Relu(n)",
     "y", "y"},
    {"a normalization that is given out beside its Relu",
     "n = BatchNormalization(x, scale, bias, mean, variance) y = Relu(n)", "n, y", "y"},
    {"a normalization that another node reads beside its Relu",
     "n = BatchNormalization(x, scale, bias, mean, variance) r = Relu(n) y = Mul(r, n)", "y", "y"},
    {"indices of a pooling that are given out",
     "i = Reshape(x, image) p, y = MaxPool<kernel_shape = [2, 2]>(i)", "p, y", "p"},
    {"log-probabilities that are given out",
     "y, p = SoftmaxCrossEntropyLoss<reduction = \"sum\">(x, l)", "y, p", "y"},
    {"log-probabilities that another node reads",
     "s, p = SoftmaxCrossEntropyLoss<reduction = \"none\">(x, l) q = Mul(p, rising) "
     "r = ReduceSum<keepdims = 0>(q) y = Add(s, r)",
     "y", "y"},
    {"a Relu of what another loop needs before",
     "a = Add(x, rising) s = ReduceSum<keepdims = 0>(a) b = Mul(a, s) y = Relu(b)", "y", "y"},
};

Model model_of(const Tempting& tested) {
  Problems ignored;  // results need no types here
  const std::string training =
      std::string(tested.loss).empty()
          ? ""
          : fmt::format(
                "total = ReduceSum<keepdims = 0>({}) dx = "
                "ai.onnx.preview.training.Gradient<xs = [\"x\"], y = \"total\">(x)",
                tested.loss);
  return parse_text(
      fmt::format(R"(<ir_version: 10, opset_import: ["" : 20, "ai.onnx.preview.training" : 1]>
g (double[4,4] x, int64[4] l) => ({}) <
  double[4,4] rising = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
  double[4,4] ones = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
  double[4,4] square = {{2, 0, 1, 3, -1, 2, 0, 1, 1, 1, 4, 0, 0, 5, 1, 2}},
  double[4,2] wide = {{1, 2, 3, 4, 5, 6, 7, 8}},
  double[4] vector = {{3, 1, 4, 1}}, double[1,4] row = {{1, 2, 3, 4}}, double[4,1] column = {{1, 2, 3, 4}},
  double[4] scale = {{2, -1, 0.5, 1}}, double[4] bias = {{0.5, 0, -0.5, 1}},
  double[4] mean = {{0.25, 0, 1, -1}}, double[4] variance = {{1, 2, 0.5, 4}},
  double two = {{2}}, int64 whole_two = {{2}}, double minus_one = {{-1}},
  int64[2] shape = {{4, 4}}, int64[4] image = {{1, 1, 4, 4}}> {{ {} }}
training_info {{ algorithm a () => ({}) {{ {} }} }})",
                  tested.outputs, tested.nodes, training.empty() ? "" : "dx", training),
      {.problems = &ignored});
}

TEST(Passes, ChangeNoResult) {
  const TensorMap inputs = {
      {"x", Tensor::of<double>({4, 4}, {-2, 0.5, 1, 3, 0.25, -1.5, 2, -0.75, 1.25, 4, -3, 0.125,
                                        2.5, -0.5, 1.5, -4})},
      {"l", Tensor::of<int64_t>({4}, {3, 0, 2, 1})}};
  for (const Tempting& tested : kTempting) {
    const Model model = model_of(tested);
    const auto step_of = [&] {
      Model step = join_step(model, 0);
      replace_gradients(step);
      return step;
    };
    const Model step = step_of();
    eval::Environment environment;
    for (const Value* input : step.graph->inputs()) {
      environment.emplace(input, inputs.at(input->name()));
    }
    eval::run_graph(*step.graph, environment);
    State state(model);
    Program program(step_of());
    const TensorMap planned = program.run(inputs, state);
    EXPECT_EQ(program.explain().find("reference kernels"), std::string::npos) << tested.name;
    for (const Value* output : step.graph->outputs()) {
      const Tensor &ours = planned.at(output->name()), &expected = environment.at(output).tensor();
      ASSERT_EQ(to_string(ours.type()), to_string(expected.type())) << tested.name;
      for (int64_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(ours.number(i), expected.number(i), 1e-12 * (1 + std::abs(expected.number(i))))
            << tested.name << ", " << output->name() << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace onward
