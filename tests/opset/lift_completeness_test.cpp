// The table of lift rules against the standard's own list of operators and versions.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "opset/lift.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

using Form = std::tuple<std::string, std::string, int>;  // domain, operator, since_version

/// The version that follows each version of each operator; 0 after the last.
std::map<Form, int> next_versions() {
  std::map<std::pair<std::string, std::string>, std::set<int>> versions;
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    versions[{schema.domain(), schema.Name()}].insert(schema.since_version());
  }
  std::map<Form, int> next;
  for (const auto& [op, all] : versions) {
    for (auto it = all.begin(); it != all.end(); ++it) {
      next[{op.first, op.second, *it}] = std::next(it) == all.end() ? 0 : *std::next(it);
    }
  }
  return next;
}

/// All rows of the table as the form that they start from, with the version that they lead to.
std::vector<std::pair<Form, int>> rows() {
  std::vector<std::pair<Form, int>> all;
  for (const auto family :
       {elementwise_lift_steps(), conversion_lift_steps(), shape_lift_steps(),
        reduction_lift_steps(), layer_lift_steps(), recurrent_lift_steps(), ml_lift_steps()}) {
    for (const LiftStep& step : family) {
      all.push_back({{std::string(step.domain), std::string(step.op), step.from}, step.to});
    }
  }
  for (const SameForms& forms : same_forms()) {
    for (size_t i = 0; i + 1 < forms.versions.size(); ++i) {
      all.push_back({{std::string(forms.domain), std::string(forms.op), forms.versions[i]},
                     forms.versions[i + 1]});
    }
  }
  return all;
}

std::string name(const Form& form) {
  return fmt::format("{}.{} of opset {}", std::get<0>(form), std::get<1>(form), std::get<2>(form));
}

TEST(LiftTable, HasOnlyStepsFromOneVersionToTheNext) {
  const auto next = next_versions();
  std::set<Form> seen;
  for (const auto& [form, to] : rows()) {
    ASSERT_TRUE(next.contains(form)) << name(form);
    EXPECT_EQ(next.at(form), to) << name(form);
    EXPECT_TRUE(seen.insert(form).second) << "twice: " << name(form);
  }
}

TEST(LiftTable, EveryVersionOfEveryOperatorHasARuleOrIsAGap) {
  std::set<Form> known;
  for (const auto& [form, to] : rows()) known.insert(form);
  for (const LiftGap& gap : lift_gaps()) {
    const Form form{std::string(gap.domain), std::string(gap.op), gap.from};
    EXPECT_TRUE(known.insert(form).second) << "a gap that has a rule: " << name(form);
    EXPECT_FALSE(gap.reason.empty()) << name(form);
  }
  for (const auto& [form, next] : next_versions()) {
    EXPECT_TRUE(next == 0 || known.contains(form)) << name(form);
  }
}

TEST(LiftTable, UnliftableFormsAreThoseThatLeadToAGap) {
  std::vector<std::string> found;
  for (const OperatorForm& form : unliftable_forms()) {
    found.push_back(fmt::format("{} {}", form.op, form.since_version));
    EXPECT_TRUE(form.reason.starts_with("has been withdrawn: ")) << form.op << ": " << form.reason;
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(found, ", ")), "Scatter 11, Upsample 10");
}

// What a training step is made of can be read in every version that ever was.
TEST(LiftTable, ListedOperatorsHaveNoGaps) {
  std::istringstream words(
      "Add Sub Mul Div Neg Abs Sqrt Pow Exp Log Reciprocal Relu LeakyRelu Sigmoid Tanh Erf "
      "Gelu Clip Max Min Sum Where Equal Less Greater Not And Or Cast Identity Constant "
      "ConstantOfShape Shape Reshape Flatten Transpose Squeeze Unsqueeze Expand Concat "
      "Split Slice Pad Gather OneHot Gemm MatMul Conv MaxPool AveragePool "
      "GlobalAveragePool BatchNormalization LayerNormalization Dropout Softmax LogSoftmax "
      "ReduceSum ReduceMean ReduceMax SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss "
      "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Gradient Adagrad Adam "
      "Momentum");
  const std::set<std::string> listed(std::istream_iterator<std::string>(words), {});
  EXPECT_EQ(listed.size(), 69u);
  std::set<std::string> exist;
  for (const auto& [form, next] : next_versions()) exist.insert(std::get<1>(form));
  for (const std::string& op : listed) EXPECT_TRUE(exist.contains(op)) << op;
  for (const OperatorForm& form : unliftable_forms()) {
    EXPECT_FALSE(listed.contains(form.op)) << form.op << " " << form.since_version;
  }
}

}  // namespace
}  // namespace onward
