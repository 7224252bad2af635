// Random numbers in graphs inside of nodes: each iteration draws its own, and the backward has
// those of the forward.

#include <gtest/gtest.h>

#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "lower/lower.h"
#include "onward/error.h"
#include "ops/subgraph.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

// Each gives y = x * mask / (1 - ratio), so that the gradient of the sum of u y^2 by x is the sum
// of 2 u y^2 / x.
const Case kDropping[] = {
    {"Loop",
     "m = Constant<value = int64 {4}>()\n  half = Constant<value = double {0.5}>()\n"
     "  on = Constant<value = bool {1}>()\n"
     "  s, y = Loop<body = step (int64 i, bool go, double[] a)"
     " => (bool g, double[] b, double[] out) {"
     " g = Identity(go)  b = Identity(a)  out = Dropout(x, half, on) }>(m, , x)",
     {f64("x", {50}, 1, 2)}},
    {"Scan",
     "half = Constant<value = double {0.5}>()\n  on = Constant<value = bool {1}>()\n"
     "  y = Scan<num_scan_inputs = 1, body = step (double[] a) => (double[] b) {"
     " b = Dropout(a, half, on) }>(x)",
     {f64("x", {3, 50}, 1, 2)}},
    {"If",
     "half = Constant<value = double {0.5}>()\n  on = Constant<value = bool {1}>()\n"
     "  y = If<then_branch = g () => (double[] a) { a = Dropout(x, half, on) },"
     " else_branch = h () => (double[] b) { b = Neg(x) }>(on)",
     {f64("x", {50}, 1, 2)}},
};

TensorMap run(const Case& tested) {
  Model step = join_step(gradient_model(tested, Shapes::fixed), 0);
  replace_gradients(step);
  const TensorMap inputs = case_tensors(tested);
  eval::Environment environment;
  for (const Value* input : step.graph->inputs()) {
    environment.emplace(input, inputs.at(input->name()));
  }
  eval::run_graph(*step.graph, environment);
  TensorMap outputs = inputs;
  for (const Value* output : step.graph->outputs()) {
    outputs.emplace(output->name(), environment.at(output).tensor());
  }
  return outputs;
}

class RandomBodies : public testing::TestWithParam<Case> {};

TEST_P(RandomBodies, HaveTheForwardsNumbersInTheBackward) {
  const TensorMap results = run(GetParam());
  const Tensor &x = results.at("x"), &y = results.at("y"), &u = results.at("u_y");
  const Tensor& dx = results.at("d_x");
  ASSERT_EQ(dx.dims(), x.dims());
  int64_t dropped = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    double expected = 0;
    for (int64_t at = i; at < y.size(); at += x.size()) {
      dropped += y.number(at) == 0;
      expected += 2 * u.number(at) * y.number(at) * y.number(at) / x.number(i);
    }
    EXPECT_NEAR(dx.number(i), expected, 1e-12) << i;
  }
  EXPECT_GT(dropped, y.size() / 4);
  EXPECT_LT(dropped, 3 * y.size() / 4);
}

TEST_P(RandomBodies, KeepThemWhereLowered) {
  const Model lowered = lower_step(gradient_model(GetParam(), Shapes::fixed), 0).model;
  int drawing = 0;
  for_each_node(*lowered.graph,
                [&](const Node& node) { drawing += draws_random_numbers(node) ? 1 : 0; });
  EXPECT_EQ(drawing, 1);  // another runtime would draw others the second time
}

INSTANTIATE_TEST_SUITE_P(Cases, RandomBodies, testing::ValuesIn(kDropping),
                         [](const auto& tested) { return tested.param.name; });

TEST(RandomBodies, DrawOtherNumbersInEachIteration) {
  const Tensor y = run(kDropping[0]).at("y");
  const int64_t size = y.size() / 4;
  for (int64_t a = 0; a < 4; ++a) {
    for (int64_t b = 0; b < a; ++b) {
      int64_t same = 0;
      for (int64_t i = 0; i < size; ++i) {
        same += (y.number(a * size + i) == 0) == (y.number(b * size + i) == 0);
      }
      EXPECT_LT(same, size) << "iterations " << a << " and " << b;
    }
  }
}

TEST(RandomBodies, BelowAnotherGraphAreRefused) {
  const Case nested{
      "nested",
      "m = Constant<value = int64 {2}>()\n  half = Constant<value = double {0.5}>()\n"
      "  on = Constant<value = bool {1}>()\n"
      "  y = Loop<body = step (int64 i, bool go, double[] a) => (bool g, double[] b) {"
      " g = Identity(go)"
      " b = If<then_branch = t () => (double[] p) { p = Dropout(a, half, on) },"
      " else_branch = e () => (double[] q) { q = Neg(a) }>(on) }>(m, , x)",
      {f64("x", {3})}};
  Model step = join_step(gradient_model(nested, Shapes::fixed), 0);
  try {
    replace_gradients(step);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Dropout (node 'p') draws random numbers in a graph"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace onward
