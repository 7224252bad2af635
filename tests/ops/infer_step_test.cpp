// What inference says of the values of differentiated steps, internal operators among them, must be
// what they are when the step runs.

#include "ops/infer_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "onward/error.h"
#include "ops/op_def.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

/// A case with weights of the shape of what they weigh, as the step's inputs.
eval::Environment inputs_of(const Case& tested, const Model& step) {
  const TensorMap tensors = case_tensors(tested);
  eval::Environment environment;
  for (const Value* input : step.graph->inputs()) {
    environment.emplace(input, tensors.at(input->name()));
  }
  return environment;
}

struct Setting {
  Case tested;
  Shapes shapes;
  int order;
};

class StepTypes : public testing::TestWithParam<Setting> {};

TEST_P(StepTypes, AreThoseOfTheRun) {
  const auto& [tested, shapes, order] = GetParam();
  Model step = join_step(gradient_model(tested, shapes, order), 0);
  replace_gradients(step);
  eval::Environment environment = inputs_of(tested, step);
  if (shapes == Shapes::fixed) {  // the weights' too, which a gradient model leaves open
    for (Value* input : step.graph->inputs()) input->type = environment.at(input).type();
  }
  infer_step_types(step);
  eval::run_graph(*step.graph, environment);
  // Shapes may depend on integers that are fed, and on what runs; of sequences none are known, and
  // those of a Loop are not by the standard's rule. A Compress keeps what truth values
  // say, a Unique what differs, and a MaxRoiPool looks at as many elements as its regions have.
  const bool has_containers = tested.text.find("Sequence") != std::string::npos ||
                              tested.text.find("Loop") != std::string::npos ||
                              tested.text.find("If<") != std::string::npos ||
                              tested.text.find("Compress") != std::string::npos ||
                              tested.text.find("MaxRoiPool") != std::string::npos ||
                              tested.text.find("Unique") != std::string::npos;
  const bool all_known = shapes == Shapes::fixed && !has_containers &&
                         std::ranges::none_of(tested.inputs, [](const CaseInput& input) {
                           return input.dtype == DType::i64;
                         });
  for (const auto& node : step.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (!output) continue;
      const Type actual = environment.at(output.get()).type();
      EXPECT_EQ(conflict(output->type, actual), std::nullopt)
          << output->name() << " of " << node->op << " is " << to_string(actual)
          << ", but inferred as " << to_string(output->type);
      EXPECT_EQ(output->type.dtype, actual.dtype) << output->name() << " of " << node->op;
      if (all_known && node->domain == kInternalDomain) {
        EXPECT_EQ(to_string(output->type), to_string(actual))
            << output->name() << " of " << node->op;
      }
    }
  }
}

std::vector<Setting> settings() {
  std::vector<Setting> list;
  for (const Case& each : all_cases()) {
    if (!each.has_gradient || !each.error.empty()) continue;
    for (const Shapes shapes : {Shapes::fixed, Shapes::symbolic, Shapes::erased}) {
      list.push_back({each, shapes, each.smooth ? 2 : 1});
    }
  }
  return list;
}

std::string test_name(const testing::TestParamInfo<Setting>& info) {
  constexpr const char* kShapes[] = {"_fixed", "_symbolic", "_erased"};
  std::string name = info.param.tested.name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name + kShapes[static_cast<int>(info.param.shapes)];
}

INSTANTIATE_TEST_SUITE_P(Cases, StepTypes, testing::ValuesIn(settings()), test_name);

struct TypeCase {
  const char* name;
  const char* inputs;
  const char* node;
  const char* type;
};

const TypeCase kTypes[] = {
    {"SumTo", "float[4,N,3] x, float[N,1] w", "s = Shape(w)\n y = onward.SumTo(x, s)", "f32[N,1]"},
    {"SumTo of a known rank", "float[4,3] x, int64[2] s", "y = onward.SumTo(x, s)", "f32[?,?]"},
    {"SumTo of an unknown shape", "float[4,3] x, int64[K] s", "y = onward.SumTo(x, s)", "f32[...]"},
    {"SwapLastTwo", "float[B,2,3] x", "y = onward.SwapLastTwo(x)", "f32[B,3,2]"},
    {"AxesOrAll of none", "float[B,2,3] x",
     "a = Constant<value = int64[0] {}>()\n y = onward.AxesOrAll(a, x)", "i64[3]"},
    {"AxesOrAll of some", "float[B,2,3] x, int64[2] a", "y = onward.AxesOrAll(a, x)", "i64[2]"},
    {"Unsqueeze by AxesOrAll", "float[B,2] x, int64[0] a",
     "z = Constant<value_float = 1.0>()\n e = onward.AxesOrAll(a, x)\n y = Unsqueeze(z, e)",
     "f32[1,1]"},
    {"ScatterAdd", "double[N] x, int64[N] i, double[N,5] z",
     "s = Shape(z)\n y = onward.ScatterAdd(x, i, s)", "f64[N,5]"},
    {"MatMulGradA", "float[B,2,3] a, float[3,4] b, float[B,2,4] g",
     "y = onward.MatMulGradA(a, b, g)", "f32[B,2,3]"},
    {"MatMulGradB", "float[B,2,3] a, float[3,4] b, float[B,2,4] g",
     "y = onward.MatMulGradB(a, b, g)", "f32[3,4]"},
    {"ConvGradX", "float[N,8,26,26] g, float[8,1,3,3] w, float[N,1,28,28] x",
     "s = Shape(x)\n y = onward.ConvGradX(g, w, s)", "f32[N,1,28,28]"},
    {"ConvGradW", "float[N,1,28,28] x, float[N,8,26,26] g, float[8,1,3,3] w",
     "s = Shape(w)\n y = onward.ConvGradW(x, g, s)", "f32[8,1,3,3]"},
    {"AveragePoolGrad", "float[N,8,14,14] g, float[N,8,28,28] x",
     "s = Shape(x)\n y = onward.AveragePoolGrad<kernel_shape = [2, 2]>(g, s)", "f32[N,8,28,28]"},
};

Model with_node(const TypeCase& tested) {
  Problems ignored;
  return parse_text(
      std::string("<ir_version: 10, opset_import: [\"\" : 21, \"onward\" : 1]>\ng (") +
          tested.inputs + ") => (y) {\n" + tested.node + "\n}",
      {.problems = &ignored});
}

TEST(InternalTypes, AreInferredFromWhatIsKnown) {
  for (const TypeCase& tested : kTypes) {
    Model model = with_node(tested);
    infer_step_types(model);
    EXPECT_EQ(to_string(model.graph->outputs()[0]->type), tested.type) << tested.name;
  }
}

TEST(InternalTypes, AreRefusedWhereInputsDoNotFit) {
  Model model = with_node({"", "float[3] x", "y = onward.SwapLastTwo(x)", ""});
  try {
    infer_step_types(model);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'x' is no matrix"), std::string::npos)
        << error.what();
  }
}

TEST(InternalTypes, HaveARuleEach) {
  for (const OpDef& definition : op_defs()) {
    EXPECT_EQ(definition.types != nullptr, definition.domain == kInternalDomain) << definition.name;
  }
}

}  // namespace
}  // namespace onward
