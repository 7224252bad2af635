// A NaN stays one, wherever it stands: on the reference kernels and on those of plans.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "eval/interpreter.h"
#include "format/load.h"
#include "infer/infer.h"
#include "ir/copy.h"
#include "tests/runtime/both_ways.h"
#include "train/trainer.h"

namespace onward {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr const char* kNodes[] = {
    "y = Max(x, one)",    "y = Max(one, x)",
    "y = Min(x, one)",    "y = Min(one, x)",
    "y = ReduceMax(x)",   "y = ReduceSum(x)",
    "y = ReduceMean(x)",  "y = Relu(x)",
    "y = LeakyRelu(x)",   "y = Clip(x, one)",
    "y = Clip(x, , one)", "y = Abs(x)",
    "y = Mul(x, zero)",   "y = Softmax(x)",
    "y = LogSoftmax(x)",  "y = AveragePool<kernel_shape = [2]>(x)",
};

TEST(NotANumber, StaysOne) {
  for (const char* const nodes : kNodes) {
    for (const size_t place : {0U, 1U}) {
      const std::string text = fmt::format(
          "<ir_version: 10, opset_import: [\"\" : 20]> g (double[1,1,2] x) => (y) "
          "<double one = {{1}}, double zero = {{0}}> {{ {} }}",
          nodes);
      std::vector<double> x = {0.5, 0.5};
      x[place] = kNaN;
      const Tensor given = Tensor::of<double>({1, 1, 2}, x);
      Problems ignored;  // y needs no type here
      Model model = parse_text(text, {.problems = &ignored});
      infer_types(model, ignored);
      eval::Environment environment;
      environment.emplace(model.graph->inputs()[0], given);
      const Tensor reference = eval::outputs_of(*model.graph, std::move(environment))[0];
      const Tensor planned = Trainer(std::move(model)).infer({{"x", given}}).at("y");
      const auto at = reference.size() == 2 ? static_cast<int64_t>(place) : int64_t{0};
      EXPECT_TRUE(std::isnan(reference.number(at))) << nodes << " " << place;
      EXPECT_TRUE(std::isnan(planned.number(at))) << nodes << " " << place << ", planned";
    }
  }
}

struct NaNDerivative {
  const char* nodes;
  double derivative;
};

const NaNDerivative kDerivatives[] = {
    {"y = Relu(x)", 0},
    {"y = LeakyRelu<alpha = 0.25>(x)", 0.25},
    {"y = Clip(x, zero, one)", 1},
    {"y = Abs(x)", kNaN},
};

TEST(NotANumber, HasTheSameDerivativeOnAllKernels) {
  for (const auto& [nodes, derivative] : kDerivatives) {
    for (const char* const type : {"float", "double"}) {
      const Model step = step_of(parse_text(fmt::format(
          R"(<ir_version: 10, opset_import: ["" : 20, "ai.onnx.preview.training" : 1]>
g ({0}[600] x) => ({0}[600] y) <{0} one = {{1}}, {0} zero = {{0}}> {{ {1} }}
training_info {{ algorithm a () => ({0}[600] dx) {{
  loss = ReduceSum<keepdims = 0>(y)
  dx = ai.onnx.preview.training.Gradient<xs = ["x"], y = "loss">(x)
}} }})",
          type, nodes)));
      const Tensor x = std::string_view(type) == "float"
                           ? Tensor::of<float>({600}, std::vector<float>(600, NAN))
                           : Tensor::of<double>({600}, std::vector<double>(600, kNaN));
      for (const Outcome& run : {interpreted(step, {{"x", x}}), planned(copy(step), {{"x", x}})}) {
        ASSERT_EQ(run.refusal, "") << nodes;
        for (int64_t i = 0; i < 600; ++i) {
          const double given = run.outputs.at("dx").number(i);
          EXPECT_TRUE(given == derivative || (std::isnan(given) && std::isnan(derivative)))
              << nodes << " of " << type << ": " << given;
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward
