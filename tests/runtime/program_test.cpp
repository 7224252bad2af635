// Planned programs compute what the reference kernels compute: every operator case with its
// gradients, in float64 and float32, and the example files' training steps.

#include "runtime/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "eval/interpreter.h"
#include "grad/step.h"
#include "tests/ops/case.h"
#include "tests/runtime/both_ways.h"

namespace onward {
namespace {

/// Whether small integer inputs (axes, shapes) are constants to the plan, as files mostly have
/// them, or known only with the batch.
enum class Integers : uint8_t { constant, given };

Model tested_step(const Model& model, const TensorMap& inputs, Integers integers) {
  Model step = step_of(model);
  if (integers == Integers::given) return step;
  Names names(step);
  for (Value* input : step.graph->inputs()) {
    const Tensor& given = inputs.at(input->name());
    if (given.dtype() != DType::i64) continue;
    step.graph->replace_uses(
        input, step.graph->add_initializer(names.fresh(input->name() + "_constant"), given));
  }
  return step;
}

/// Whether one plan can hold the step of a case: no graphs inside of nodes, tensors alone, whose
/// shapes do not depend on data.
bool is_wholly_planned(const Case& tested) {
  return std::ranges::none_of(
      std::array{"If<", "Loop<", "Scan<", "Sequence", "Optional", "RNN<", "GRU<", "LSTM<",
                 "Compress", "Unique", "RoiAlign", "MaxRoiPool", "(x, i, shape)"},
      [&](const char* each) { return tested.text.find(each) != std::string::npos; });
}

/// Runs a step by plan and by the interpreter, and compares outputs and state.
void compare(const Model& model, const TensorMap& inputs, double tolerance, Integers integers,
             bool wholly_planned = true) {
  State state(model);
  Program program(tested_step(model, inputs, integers));
  const Model step = tested_step(model, inputs, integers);
  eval::Environment environment;
  for (const Value* input : step.graph->inputs()) {
    environment.emplace(input, inputs.at(input->name()));
  }
  eval::run_graph(*step.graph, environment);
  for (const auto& [name, tensor] : program.run(inputs, state)) {
    for (const Value* output : step.graph->outputs()) {
      if (output->name() != name) continue;
      EXPECT_EQ(tensor.dtype(), environment.at(output).tensor().dtype()) << name;
      expect_close(tensor, environment.at(output).tensor(), tolerance, name);
    }
  }
  if (integers == Integers::constant && wholly_planned) {
    EXPECT_EQ(program.explain().find("reference kernels"), std::string::npos) << "not planned";
  }
  for (const Binding& binding : step.training[0].update_bindings) {
    expect_close(state.get(binding.target->name()), environment.at(binding.source).tensor(),
                 tolerance, binding.target->name());
  }
}

class CaseTest : public testing::TestWithParam<Case> {};

std::string test_name(const testing::TestParamInfo<Case>& tested) {
  std::string name;
  for (const char letter : tested.param.name) name += std::isalnum(letter) ? letter : '_';
  return name + "_" + std::to_string(tested.index);
}

std::vector<Case> planned_cases() {
  std::vector<Case> cases;
  for (const Case& each : all_cases()) {
    if (each.error.empty() && each.has_gradient) cases.push_back(each);
  }
  return cases;
}

TensorMap inputs_of(const Case& tested, const Model& model) {
  TensorMap inputs;
  uint64_t seed = 1;
  for (const CaseInput& input : tested.inputs) {
    inputs.emplace(input.name, case_tensor(input, seed++));
  }
  const Model step = join_step(model, 0);
  for (const Value* input : step.graph->inputs()) {
    if (inputs.contains(input->name())) continue;
    // A weight u_y has the shape of the result y.
    eval::Environment environment;
    const Model forward = case_model(tested, Shapes::fixed);
    for (const Value* given : forward.graph->inputs()) {
      environment.emplace(given, inputs.at(given->name()));
    }
    eval::run_graph(*forward.graph, environment);
    for (const Value* output : forward.graph->outputs()) {
      if ("u_" + output->name() != input->name()) continue;
      const Tensor& y = environment.at(output).tensor();
      CaseInput weight = f64("u", y.dims());
      weight.dtype = y.dtype();
      inputs.emplace(input->name(), case_tensor(weight, seed++));
    }
  }
  return inputs;
}

TEST_P(CaseTest, PlannedGradientsEqualTheReference) {
  const Model model = gradient_model(GetParam(), Shapes::fixed);
  compare(model, inputs_of(GetParam(), model), 1e-12, Integers::constant,
          is_wholly_planned(GetParam()));
  compare(model, inputs_of(GetParam(), model), 1e-12, Integers::given);
}

/// The case in float32, but as it is where it says float64 itself.
Case in_f32(const Case& tested) {
  const bool says = tested.text.find("dtype") != std::string::npos ||
                    tested.text.find("datatype") != std::string::npos ||
                    tested.text.find("double") != std::string::npos ||
                    tested.text.find("to = ") != std::string::npos;
  return says ? tested : tested.in_f32();
}

TEST_P(CaseTest, InFloat32) {
  const Case tested = in_f32(GetParam());
  const Model model = gradient_model(tested, Shapes::erased);
  compare(model, inputs_of(tested, model), 2e-5, Integers::constant, is_wholly_planned(tested));
}

class PlanTest : public testing::TestWithParam<Case> {};

TEST_P(PlanTest, KernelsStayInTheirMemory) {
  for (const Case& tested : {GetParam(), in_f32(GetParam())}) {
    const Model model = gradient_model(tested, Shapes::erased);
    const TensorMap inputs = inputs_of(tested, model);
    const double tolerance = tested.float_type == DType::f32 ? 2e-5 : 1e-12;
    const Outcome given = planned_apart(tested_step(model, inputs, Integers::constant), inputs);
    ASSERT_EQ(given.refusal, "");
    for (const auto& [name, tensor] : interpreted(step_of(model), inputs).outputs) {
      expect_close(given.outputs.at(name), tensor, tolerance, name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CaseTest, testing::ValuesIn(planned_cases()), test_name);

std::vector<Case> wholly_planned_cases() {
  auto cases = planned_cases();
  std::erase_if(cases, [](const Case& each) { return !is_wholly_planned(each); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, PlanTest, testing::ValuesIn(wholly_planned_cases()), test_name);

}  // namespace
}  // namespace onward
