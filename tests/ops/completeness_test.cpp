// Every operator of the list has all that an operator needs: a definition, a way to compute it,
// cases, and among the cases every attribute that it has.

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <map>
#include <set>

#include "eval/kernel.h"
#include "ops/legalize.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

constexpr std::string_view kOperators[] = {
    "Abs",
    "Add",
    "And",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "CastLike",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "Div",
    "Dropout",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Gather",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "Greater",
    "Identity",
    "LayerNormalization",
    "LeakyRelu",
    "Less",
    "Log",
    "LogSoftmax",
    "MatMul",
    "Max",
    "MaxPool",
    "Min",
    "Mul",
    "Neg",
    "NegativeLogLikelihoodLoss",
    "Not",
    "OneHot",
    "Or",
    "Pad",
    "Pow",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Reciprocal",
    "ReduceMax",
    "ReduceMean",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Shape",
    "Sigmoid",
    "Slice",
    "Softmax",
    "SoftmaxCrossEntropyLoss",
    "Softplus",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Tanh",
    "Transpose",
    "Unsqueeze",
    "Where",
};

/// Attributes that need no case of their own, and why.
const std::map<std::pair<std::string, std::string>, std::string> kUntested = {
    {{"Cast", "round_mode"}, "only for f8e8m0"},
    {{"Cast", "saturate"}, "only for 8-bit floats"},
    {{"CastLike", "round_mode"}, "only for f8e8m0"},
    {{"CastLike", "saturate"}, "only for 8-bit floats"},
    {{"Constant", "sparse_value"}, "gives no dense tensor"},
    {{"LayerNormalization", "stash_type"}, "computed in the input's precision at least"},
};

std::set<std::string> cases_texts(std::string_view op) {
  std::set<std::string> texts;
  for (const Case& each : all_cases()) {
    const std::string call = " " + std::string(op);
    if (each.text.find(call + "(") != std::string::npos ||
        each.text.find(call + "<") != std::string::npos) {
      texts.insert(each.text);
    }
  }
  return texts;
}

class Operator : public testing::TestWithParam<std::string_view> {};

TEST_P(Operator, IsComplete) {
  const std::string op(GetParam());
  const OpDef* definition = find_op_def("", op);
  ASSERT_TRUE(definition) << "no definition in ops/";
  EXPECT_TRUE(definition->vjp || definition->no_gradient || has_expansion("", op))
      << "neither a gradient nor a reason for none";
  EXPECT_TRUE(eval::find_kernel("", op) || has_expansion("", op)) << "nothing computes it";
  const auto texts = cases_texts(op);
  EXPECT_FALSE(texts.empty()) << "no case in tests/ops/";
  for (const auto& [name, attribute] : onnx::OpSchemaRegistry::Schema(op)->attributes()) {
    if (kUntested.contains({op, name})) continue;
    const bool tested = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return text.find(name + " = ") != std::string::npos;
    });
    EXPECT_TRUE(tested) << "no case has the attribute " << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Listed, Operator, testing::ValuesIn(kOperators),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Operators, OfTheTrainingDomainAreThere) {
  for (const char* op : {"Adagrad", "Adam", "Momentum"}) {
    const OpDef* definition = find_op_def("ai.onnx.preview.training", op);
    ASSERT_TRUE(definition) << op;
    EXPECT_TRUE(definition->expansion) << op;
  }
}

TEST(Operators, OfOurOwnCanBeComputed) {
  for (const OpDef& definition : op_defs()) {
    if (definition.domain != kInternalDomain) continue;
    EXPECT_TRUE(definition.expansion || eval::find_kernel(kInternalDomain, definition.name))
        << definition.name;
    EXPECT_TRUE(definition.vjp || definition.no_gradient || definition.expansion)
        << definition.name;
  }
}

}  // namespace
}  // namespace onward
