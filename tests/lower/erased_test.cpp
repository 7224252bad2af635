// Every operator case whose model says nothing of shapes: lowered all the same, or refused where a
// rank must be known.

#include <gtest/gtest.h>

#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "lower/lower.h"
#include "onward/error.h"
#include "opset/lift.h"
#include "runtime/state.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

TensorMap run(const Model& model, const TensorMap& inputs) {
  eval::Environment environment;
  for (const Value* input : model.graph->inputs()) {
    environment.emplace(input, inputs.at(input->name()));
  }
  const auto results = eval::outputs_of(*model.graph, std::move(environment));
  TensorMap outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    outputs.emplace(model.graph->outputs()[i]->name(), results[i]);
  }
  return outputs;
}

class Erased : public testing::TestWithParam<Case> {};

TEST_P(Erased, IsLoweredOrRefused) {
  const Model model = gradient_model(GetParam(), Shapes::erased);
  LoweredStep lowered;
  try {
    lowered = lower_step(model, 0);
  } catch (const Error& error) {
    const std::string text = error.what();
    const bool is_too_new = text.find("is new in opset 28") != std::string::npos;
    EXPECT_TRUE(is_too_new || text.find("must be known") != std::string::npos) << text;
    return;
  }
  lift(lowered.model);  // as the kernels want it
  Model step = join_step(model, 0);
  replace_gradients(step);
  const TensorMap inputs = case_tensors(GetParam());
  const TensorMap expected = run(step, inputs), results = run(lowered.model, inputs);
  for (const auto& [name, tensor] : expected) {
    ASSERT_EQ(results.at(name).dims(), tensor.dims()) << name;
    if (!lowered.notes.empty()) continue;  // random numbers
    for (int64_t i = 0; i < tensor.size(); ++i) {
      EXPECT_NEAR(results.at(name).number(i), tensor.number(i), 1e-12) << name;
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Case& each : all_cases()) {
    if (each.has_gradient && each.error.empty()) list.push_back(each);
  }
  return list;
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, Erased, testing::ValuesIn(cases()), test_name);

}  // namespace
}  // namespace onward
