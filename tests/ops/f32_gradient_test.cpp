// Gradients of operators that know no float64, against differences in float32: with steps so wide
// that roundings do not matter, and as much less exact.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "eval/array.h"
#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

using Named = std::map<std::string, Tensor>;

Named outputs_by_name(const Model& step, const Named& inputs) {
  eval::Environment environment;
  for (const Value* input : step.graph->inputs()) {
    environment.emplace(input, inputs.at(input->name()));
  }
  const auto results = eval::outputs_of(*step.graph, std::move(environment));
  Named named;
  for (size_t i = 0; i < results.size(); ++i) {
    named.emplace(step.graph->outputs()[i]->name(), results[i]);
  }
  return named;
}

Tensor drawn(const std::string& name, std::vector<int64_t> dims, uint64_t seed) {
  CaseInput input = f64(name, std::move(dims), -1, 1);
  input.dtype = DType::f32;
  return case_tensor(input, seed);
}

class F32Gradient : public testing::TestWithParam<Case> {};

TEST_P(F32Gradient, FollowsDifferences) {
  const Case& tested = GetParam();
  Model step = join_step(gradient_model(tested, Shapes::fixed), 0);
  replace_gradients(step);
  Named inputs;
  uint64_t seed = 1;
  for (const CaseInput& input : tested.inputs) {
    inputs.emplace(input.name, case_tensor(input, seed++));
  }
  const Named results = outputs_by_name(case_model(tested, Shapes::fixed), inputs);
  for (const std::string& output : tested.outputs) {
    inputs.emplace("u_" + output, drawn("u", results.at(output).dims(), seed++));
  }
  const Named gradients = outputs_by_name(step, inputs);
  for (const std::string& x : differentiated(tested)) {
    const Tensor direction = drawn("v", inputs.at(x).dims(), seed++);
    double computed = 0;
    for (int64_t i = 0; i < direction.size(); ++i) {
      computed += direction.number(i) * gradients.at("d_" + x).number(i);
    }
    const auto loss_at = [&](double t) {
      eval::Array<double> moved = eval::to_array<double>(inputs.at(x));
      for (int64_t i = 0; i < moved.size(); ++i) moved[i] += t * direction.number(i);
      Named given = inputs;
      given.insert_or_assign(x, eval::to_tensor(moved, DType::f32));
      return outputs_by_name(step, given).at("loss").number(0);
    };
    const auto difference = [&](double h) { return (loss_at(h) - loss_at(-h)) / (2 * h); };
    constexpr double kStep = 0.05;
    const double numeric = (4 * difference(kStep / 2) - difference(kStep)) / 3;
    EXPECT_NEAR(computed, numeric, 1e-3 * std::max(1.0, std::fabs(numeric))) << "by " << x;
  }
}

std::vector<Case> f32_cases() {
  std::vector<Case> cases;
  for (const auto family : {attention_state_cases(), ml_cases()}) {
    for (const Case& each : family) {
      if (each.error.empty()) cases.push_back(each);
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, F32Gradient, testing::ValuesIn(f32_cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           std::string name = info.param.name;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

}  // namespace
}  // namespace onward
