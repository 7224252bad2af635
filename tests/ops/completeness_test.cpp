// Every operator that is not missing has all that an operator needs: a way to compute it, cases,
// and among the cases every attribute that it has. And every operator of the standard has a
// definition.

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <map>
#include <set>

#include "eval/kernel.h"
#include "ops/legalize.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

/// The standard's operators that are not missing.
std::vector<std::string_view> operators() {
  std::vector<std::string_view> names;
  for (const OpDef& definition : op_defs()) {
    const bool is_written = definition.domain.empty() && definition.missing.empty();
    if (is_written && !is_tested_elsewhere(definition.name)) names.push_back(definition.name);
  }
  return names;
}

/// Attributes that need no case of their own, and why.
const std::map<std::pair<std::string, std::string>, std::string> kUntested = {
    {{"Cast", "round_mode"}, "only for f8e8m0"},
    {{"Cast", "saturate"}, "only for 8-bit floats"},
    {{"CastLike", "round_mode"}, "only for f8e8m0"},
    {{"CastLike", "saturate"}, "only for 8-bit floats"},
    {{"Constant", "sparse_value"}, "gives no dense tensor"},
    {{"GroupNormalization", "stash_type"}, "computed in the input's precision at least"},
    {{"LayerNormalization", "stash_type"}, "computed in the input's precision at least"},
    {{"RMSNormalization", "stash_type"}, "computed in the input's precision at least"},
    {{"Range", "stash_type"}, "only for 16-bit floats"},
};

std::set<std::string> cases_texts(std::string_view op) {
  std::set<std::string> texts;
  std::vector<Case> cases = all_cases();
  cases.insert(cases.end(), helper_cases().begin(), helper_cases().end());
  for (const Case& each : cases) {
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

INSTANTIATE_TEST_SUITE_P(Defined, Operator, testing::ValuesIn(operators()),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Operators, OfTheStandardAreDefinedOrMissing) {
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (schema.Name() == "Gradient") continue;  // grad/ replaces it
    EXPECT_TRUE(find_op_def(schema.domain(), schema.Name())) << schema.Name();
  }
  EXPECT_GT(operators().size(), 70U);
}

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
  }
}

}  // namespace
}  // namespace onward
