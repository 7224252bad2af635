// A NaN stays one, wherever it stands: on the reference kernels and on those of plans.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "eval/interpreter.h"
#include "format/load.h"
#include "infer/infer.h"
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

}  // namespace
}  // namespace onward
