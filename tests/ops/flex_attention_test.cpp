// FlexAttention: graphs of its own change scores and probabilities. Its cases have another domain
// and graphs inside, so that they are here.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/backward.h"
#include "ops/infer_step.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

constexpr const char* kCapped =
    "score_mod = capped (double[b,h,l,s] scores) => (double[b,h,l,s] out) { out = Tanh(scores) }, "
    "prob_mod = halved (double[b,h,l,s] p) => (double[b,h,l,s] out) {\n"
    "  two = Constant<value = double {2}>()\n  out = Div(p, two) }";

/// Four heads of queries share two of keys.
Model flex_model(const std::string& attributes) {
  return parse_text(fmt::format(
      "<ir_version: 13, opset_import: [\"\" : 26, \"ai.onnx.preview\" : 1]>\n"
      "g (double[1,4,2,3] q, double[1,2,3,3] k, double[1,2,3,2] v) => (double[1,4,2,2] y) {{\n"
      "  y = ai.onnx.preview.FlexAttention<{}>(q, k, v)\n}}",
      attributes));
}

std::vector<Tensor> drawn_inputs() {
  return {case_tensor(f64("q", {1, 4, 2, 3}), 1), case_tensor(f64("k", {1, 2, 3, 3}), 2),
          case_tensor(f64("v", {1, 2, 3, 2}), 3)};
}

std::vector<Tensor> outputs_of(const Model& model, const std::vector<Tensor>& inputs) {
  eval::Environment environment;
  for (size_t i = 0; i < inputs.size(); ++i) {
    environment.emplace(model.graph->inputs()[i], inputs[i]);
  }
  return eval::outputs_of(*model.graph, std::move(environment));
}

/// By plain sums.
std::vector<double> attention(const std::vector<Tensor>& inputs, double scale, bool is_modified) {
  const auto at = [](const Tensor& t, int64_t h, int64_t i, int64_t d) {
    return t.number((h * t.dims()[2] + i) * t.dims()[3] + d);
  };
  std::vector<double> y;
  for (int64_t h = 0; h < 4; ++h) {
    for (int64_t i = 0; i < 2; ++i) {
      std::vector<double> p;
      double total = 0;
      for (int64_t j = 0; j < 3; ++j) {
        double score = 0;
        for (int64_t d = 0; d < 3; ++d)
          score += at(inputs[0], h, i, d) * at(inputs[1], h / 2, j, d);
        score *= scale;
        p.push_back(std::exp(is_modified ? std::tanh(score) : score));
        total += p.back();
      }
      for (int64_t d = 0; d < 2; ++d) {
        double sum = 0;
        for (int64_t j = 0; j < 3; ++j) {
          sum += p[static_cast<size_t>(j)] / total * at(inputs[2], h / 2, j, d);
        }
        y.push_back(is_modified ? sum / 2 : sum);
      }
    }
  }
  return y;
}

void expect_near(const Tensor& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), static_cast<int64_t>(wanted.size()));
  for (int64_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got.number(i), wanted[static_cast<size_t>(i)], 1e-12);
  }
}

TEST(FlexAttention, IsAttentionWithoutGraphs) {
  const auto inputs = drawn_inputs();
  expect_near(outputs_of(flex_model("scale = 0.5"), inputs)[0], attention(inputs, 0.5, false));
  expect_near(outputs_of(flex_model("softmax_precision = 11"), inputs)[0],
              attention(inputs, 1 / std::sqrt(3.0), false));
}

TEST(FlexAttention, LetsGraphsChangeScoresAndProbabilities) {
  const auto inputs = drawn_inputs();
  expect_near(outputs_of(flex_model(kCapped), inputs)[0],
              attention(inputs, 1 / std::sqrt(3.0), true));
}

TEST(FlexAttention, IsDifferentiatedThroughItsGraphs) {
  Model model = flex_model(kCapped);
  infer_step_types(model);
  Graph& graph = *model.graph;
  Names names(model);
  Builder builder(graph, nullptr, names, "d_");
  Value* y = graph.outputs()[0];
  const std::vector<Value*> xs(graph.inputs().begin(), graph.inputs().end());
  const auto gradients =
      backward({.ys = {y}, .dys = {ones_like(builder.expr(y)).value()}, .xs = xs}, builder);
  for (Value* gradient : gradients) graph.add_output(gradient);
  const auto inputs = drawn_inputs();
  const auto results = outputs_of(model, inputs);
  const auto sum_at = [&](size_t input, int64_t element, double t) {
    auto moved = inputs;
    eval::Array<double> x = eval::to_array<double>(inputs[input]);
    x[element] += t;
    moved[input] = eval::to_tensor(x, DType::f64);
    double sum = 0;
    for (const double number : attention(moved, 1 / std::sqrt(3.0), true)) sum += number;
    return sum;
  };
  for (size_t input = 0; input < 3; ++input) {
    const Tensor& dx = results[1 + input];
    ASSERT_EQ(dx.dims(), inputs[input].dims());
    for (int64_t i = 0; i < dx.size(); ++i) {
      constexpr double kStep = 1e-5;
      EXPECT_NEAR(dx.number(i), (sum_at(input, i, kStep) - sum_at(input, i, -kStep)) / (2 * kStep),
                  1e-8);
    }
  }
}

}  // namespace
}  // namespace onward
