// Every case against central differences along one random direction, in float64: <v, J^T u>
// computed by the gradient graph must be the derivative of <u, f(x + t v)> at t = 0.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <cmath>
#include <map>
#include <set>

#include "check/check.h"
#include "eval/interpreter.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

using Tensors = std::map<std::string, Tensor>;

/// Runs a joined step with inputs by name; gives all outputs by name.
Tensors run(const Model& step, const Tensors& inputs) {
  eval::Environment environment;
  for (const Value* input : step.graph->inputs())
    environment.emplace(input, inputs.at(input->name()));
  const auto results = eval::outputs_of(*step.graph, std::move(environment));
  Tensors outputs;
  for (size_t i = 0; i < results.size(); ++i)
    outputs.emplace(step.graph->outputs()[i]->name(), results[i]);
  return outputs;
}

Model differentiated_step(const Case& tested, Shapes shapes, int order) {
  Model step = join_step(gradient_model(tested, shapes, order), 0);
  replace_gradients(step);
  return step;
}

/// Random inputs, and weights of the shapes of what they weigh.
Tensors inputs_of(const Case& tested, int order) {
  Tensors inputs;
  uint64_t seed = 1;
  for (const CaseInput& input : tested.inputs)
    inputs.emplace(input.name, case_tensor(input, seed++));
  const Model forward = case_model(tested, Shapes::fixed);
  const Tensors results = run(forward, inputs);
  for (const std::string& output : tested.outputs) {
    inputs.emplace("u_" + output, case_tensor(f64("u", results.at(output).dims()), seed++));
  }
  if (order == 2) {
    for (const std::string& x : differentiated(tested)) {
      inputs.emplace("w_d_" + x, case_tensor(f64("w", inputs.at(x).dims()), seed++));
    }
  }
  return inputs;
}

/// The inputs moved by t along a random direction, and the direction.
struct Direction {
  Tensors v;
  Tensors moved(Tensors inputs, double t) const {
    for (const auto& [name, direction] : v) {
      eval::Array<double> x = eval::to_array<double>(inputs.at(name));
      for (int64_t i = 0; i < x.size(); ++i) x[i] += t * direction.number(i);
      inputs.insert_or_assign(name, eval::to_tensor(x, DType::f64));
    }
    return inputs;
  }
};

Direction random_direction(const Case& tested, const Tensors& inputs) {
  Direction direction;
  uint64_t seed = 100;
  for (const std::string& x : differentiated(tested)) {
    direction.v.emplace(x, case_tensor(f64(x, inputs.at(x).dims(), -1, 1), seed++));
  }
  return direction;
}

double dot(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dims(), b.dims());
  double sum = 0;
  for (int64_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += a.number(i) * b.number(i);
  return sum;
}

/// The derivative of output `loss` along the direction, by the gradients named prefix + input and
/// by central differences.
void expect_gradient(const Case& tested, const Model& step, int order) {
  const std::string loss = order == 1 ? "loss" : "loss2", prefix = order == 1 ? "d_" : "dd_";
  const Tensors inputs = inputs_of(tested, order);
  const Direction direction = random_direction(tested, inputs);
  const Tensors outputs = run(step, inputs);
  double computed = 0;
  for (const auto& [name, v] : direction.v) computed += dot(outputs.at(prefix + name), v);

  // Two steps and Richardson's extrapolation: the error falls with the fourth power of h.
  const auto difference = [&](double h) {
    return (run(step, direction.moved(inputs, h)).at(loss).number(0) -
            run(step, direction.moved(inputs, -h)).at(loss).number(0)) /
           (2 * h);
  };
  constexpr double kStep = 1e-3;
  const double numeric = (4 * difference(kStep / 2) - difference(kStep)) / 3;
  const double scale = std::max({std::abs(computed), std::abs(numeric), 1e-2});
  EXPECT_LE(std::abs(computed - numeric) / scale, 1e-6)
      << tested.name << ": computed " << computed << ", by differences " << numeric;
}

void expect_same(const Tensors& a, const Tensors& b) {
  for (const auto& [name, tensor] : a) {
    ASSERT_EQ(tensor.dims(), b.at(name).dims()) << name;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      EXPECT_NEAR(tensor.number(i), b.at(name).number(i), 1e-12) << name;
    }
  }
}

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, EqualsCentralDifferences) {
  expect_gradient(GetParam(), differentiated_step(GetParam(), Shapes::fixed, 1), 1);
}

TEST_P(Gradient, DoesNotNeedToKnowShapes) {
  const Tensors inputs = inputs_of(GetParam(), 1);
  const Tensors fixed = run(differentiated_step(GetParam(), Shapes::fixed, 1), inputs);
  expect_same(fixed, run(differentiated_step(GetParam(), Shapes::symbolic, 1), inputs));
  expect_same(fixed, run(differentiated_step(GetParam(), Shapes::erased, 1), inputs));
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

std::vector<Case> cases_where(bool (*wanted)(const Case&)) {
  std::vector<Case> list;
  for (const Case& each : all_cases()) {
    if (wanted(each)) list.push_back(each);
  }
  return list;
}

INSTANTIATE_TEST_SUITE_P(Cases, Gradient, testing::ValuesIn(cases_where([](const Case& each) {
                           return each.has_gradient && each.error.empty();
                         })),
                         test_name);

class SecondGradient : public testing::TestWithParam<Case> {};

TEST_P(SecondGradient, EqualsCentralDifferences) {
  expect_gradient(GetParam(), differentiated_step(GetParam(), Shapes::fixed, 2), 2);
}

TEST_P(SecondGradient, DoesNotNeedToKnowShapes) {
  const Tensors inputs = inputs_of(GetParam(), 2);
  expect_same(run(differentiated_step(GetParam(), Shapes::fixed, 2), inputs),
              run(differentiated_step(GetParam(), Shapes::erased, 2), inputs));
}

INSTANTIATE_TEST_SUITE_P(Cases, SecondGradient, testing::ValuesIn(cases_where([](const Case& each) {
                           return each.has_gradient && each.smooth && each.error.empty();
                         })),
                         test_name);

/// The case differentiated by one input that is used a second time, beside the case: what a rule
/// left out would count as zero next to that use.
Case used_twice(const Case& tested, const std::string& x) {
  Case both = tested;
  both.by = {x};
  both.text += fmt::format("\n  elsewhere = Mul({0}, {0})", x);
  both.outputs.push_back("elsewhere");
  return both;
}

std::vector<std::string> float_inputs(const Case& tested) {
  std::vector<std::string> names;
  for (const CaseInput& input : tested.inputs) {
    if (input.dtype == DType::f64) names.push_back(input.name);
  }
  return names;
}

std::vector<Case> computed_cases() {
  auto cases = cases_where([](const Case& each) { return each.error.empty(); });
  cases.insert(cases.end(), helper_cases().begin(), helper_cases().end());
  return cases;
}

TEST(FloatInputs, HaveTheirWholeGradientOrAreRefused) {
  std::set<std::string> refused;
  for (const Case& tested : computed_cases()) {
    for (const std::string& x : float_inputs(tested)) {
      // Next to an exponent of 2, a negative base has no powers.
      if (tested.name == "Pow of a negative base" && x == "e") continue;
      SCOPED_TRACE(tested.name + " by " + x);
      const Case both = used_twice(tested, x);
      try {
        expect_gradient(both, differentiated_step(both, Shapes::fixed, 1), 1);
      } catch (const Error& error) {
        EXPECT_NE(
            std::string(error.what()).find("has no gradient with respect to its input 1, '" + x),
            std::string::npos)
            << error.what();
        refused.insert(tested.name + " by " + x);
      }
    }
  }
  // The mask is drawn by the ratio. A region is taken for a setting.
  EXPECT_EQ(refused, std::set<std::string>({"Dropout in training by ratio",
                                            "Dropout not in training by ratio",
                                            "Resize of a given region by region"}));
}

/// Whether Onward differentiates the case by that input alone.
bool has_gradient_by(const Case& tested, const std::string& x) {
  try {
    differentiated_step(tested.differentiated_by({x}), Shapes::fixed, 1);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(FloatInputs, AreReachedByGradientsWhereThereIsARule) {
  for (const Case& tested : computed_cases()) {
    for (const std::string& x : float_inputs(tested)) {
      if (!has_gradient_by(tested, x)) continue;
      const Model model = gradient_model(tested.differentiated_by({x}), Shapes::fixed);
      Problems problems;
      check_training(model, problems);
      EXPECT_EQ(problems.errors(), 0U) << tested.name << " by " << x;
    }
  }
}

TEST(FloatInputs, OfAllOperatorsAreAmongTheCases) {
  std::set<std::pair<std::string, size_t>> given;
  for (const Case& tested : computed_cases()) {
    const Model model = case_model(tested, Shapes::fixed);
    for (const auto& node : model.graph->nodes()) {
      for (size_t i = 0; i < node->inputs().size(); ++i) {
        const Value* input = node->input(i);
        if (input && input->is_input() && input->type.dtype == DType::f64)
          given.emplace(node->op, i);
      }
    }
  }
  for (const OpDef& definition : op_defs()) {
    if (!definition.domain.empty() || !definition.missing.empty()) continue;
    const std::string op(definition.name);
    const auto& formal = onnx::OpSchemaRegistry::Schema(op)->inputs();
    for (size_t i = 0; i < formal.size(); ++i) {
      const bool takes_floats = std::ranges::any_of(
          formal[i].GetTypes(), [](const auto* type) { return *type == "tensor(double)"; });
      EXPECT_TRUE(!takes_floats || given.contains({op, i})) << op << ", input " << i;
    }
  }
}

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, WithItsReason) {
  Tensors inputs;
  uint64_t seed = 1;
  for (const CaseInput& input : GetParam().inputs)
    inputs.emplace(input.name, case_tensor(input, seed++));
  try {
    run(case_model(GetParam(), Shapes::erased), inputs);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().error), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Refused, testing::ValuesIn(cases_where([](const Case& each) {
                           return !each.error.empty();
                         })),
                         test_name);

}  // namespace
}  // namespace onward
