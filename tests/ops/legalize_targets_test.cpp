// Every operator for every target of legalize: it ends, and what it accepts is what the target
// takes; what it refuses has a reason.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>

#include "emit/coverage.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/copy.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "lower/opset.h"
#include "ops/function_body.h"
#include "ops/infer_step.h"
#include "ops/legalize.h"
#include "opset/lift.h"
#include "runtime/kernel.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

struct NamedTarget {
  std::string name;
  Refuses refuses;
};

/// All but the opsets.
std::vector<NamedTarget> targets() {
  std::vector<NamedTarget> all = {
      {"kernels", refused_by_kernels},
      {"standard operators", refused_by_runtimes},
      {"the plainest operators",
       [](const Node& node) {
         // ConvTranspose and ConvGradX are each other's expansion.
         return has_expansion(node) && node.op != "ConvGradX" ? "it can be plainer" : "";
       }},
  };
  for (const emit::Dialect* dialect : emit::dialects()) {
    all.push_back({std::string(dialect->framework),
                   [dialect](const Node& node) { return refused_by_framework(node, *dialect); }});
  }
  return all;
}

struct Subject {
  std::string name;
  Model model;
};

const char* const kOptimizers = R"(<ir_version: 10,
  opset_import: ["" : 22, "ai.onnx.preview.training" : 1]>
g (float r, int64 t, float[2] g) => (adagrad, momentum, adam)
<float[2] x = {1, 2}, float[2] v = {0, 0}, float[2] h = {1, 1}> {
  adagrad, a = ai.onnx.preview.training.Adagrad(r, t, x, g, h)
  momentum, b = ai.onnx.preview.training.Momentum<alpha = 0.9, beta = 1.0,
    mode = "standard", norm_coefficient = 0.0>(r, t, x, g, v)
  adam, c, d = ai.onnx.preview.training.Adam(r, t, x, g, v, h)
})";

/// The cases, forward and as steps, and the standard's optimizers.
std::vector<Subject> subjects(Shapes shapes) {
  std::vector<Subject> all;
  for (const Case& tested : all_cases()) {
    if (!tested.error.empty()) continue;
    Model forward = case_model(tested, shapes);
    lift(forward);
    all.push_back({tested.name, std::move(forward)});
    if (!tested.has_gradient) continue;
    const int order = tested.smooth && shapes == Shapes::fixed ? 2 : 1;
    Model step = join_step(gradient_model(tested, shapes, order), 0);
    replace_gradients(step);
    all.push_back({tested.name + ", a step", std::move(step)});
  }
  Problems ignored;  // outputs need no types here
  all.push_back({"optimizers", parse_text(kOptimizers, {.problems = &ignored})});
  lift(all.back().model);
  for (Subject& each : all) infer_step_types(each.model);
  return all;
}

std::vector<std::string> output_names(const Model& model) {
  std::vector<std::string> names;
  for (const Value* output : model.graph->outputs()) names.push_back(output->name());
  return names;
}

bool takes_all(const NamedTarget& target, const Model& model) {
  bool all = true;
  for_each_node(*model.graph, [&](const Node& node) { all &= target.refuses(node).empty(); });
  return all;
}

void check(const Subject& subject, const NamedTarget& target) {
  if (takes_all(target, subject.model)) return;
  Model model = copy(subject.model);
  const auto refusals = try_legalize(model, target.refuses);
  EXPECT_EQ(structure_faults(*model.graph), std::vector<std::string>{});
  EXPECT_EQ(output_names(model), output_names(subject.model));
  std::set<std::string> left, refused;
  for_each_node(*model.graph, [&](const Node& node) {
    if (!target.refuses(node).empty()) left.insert(node.label());
  });
  for (const RefusedNodes& each : refusals) {
    EXPECT_FALSE(each.reason.empty());
    refused.insert(each.nodes.begin(), each.nodes.end());
  }
  EXPECT_EQ(left, refused);
  EXPECT_NO_THROW(infer_step_types(model));
}

/// The oldest of the opsets that refuse a node or take it as that one does, and as all between do.
int64_t oldest_of_one_mind(const Node& node, int64_t opset) {
  const bool is_refused = !refused_by_opset(node, opset).empty();
  while (opset > kOldestLoweredOpset && !refused_by_opset(node, opset - 1).empty() == is_refused) {
    --opset;
  }
  return opset;
}

/// For every opset. Where some are of one mind about all nodes that come up, they get the same
/// graph, and one of them is enough.
void check_opsets(const Subject& subject) {
  for (int64_t opset = inner_opset(); opset >= kOldestLoweredOpset;) {
    int64_t oldest = kOldestLoweredOpset;
    const NamedTarget target{fmt::format("opset {}", opset), [&](const Node& node) {
                               oldest = std::max(oldest, oldest_of_one_mind(node, opset));
                               return refused_by_opset(node, opset);
                             }};
    SCOPED_TRACE(subject.name + " for " + target.name);
    check(subject, target);
    opset = oldest - 1;
  }
}

class LegalizeTargets : public testing::TestWithParam<Shapes> {};

TEST_P(LegalizeTargets, AcceptOrRefuseEveryCase) {
  const std::vector<NamedTarget> all = targets();
  for (const Subject& subject : subjects(GetParam())) {
    for (const NamedTarget& target : all) {
      SCOPED_TRACE(subject.name + " for " + target.name);
      check(subject, target);
    }
    check_opsets(subject);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, LegalizeTargets, testing::Values(Shapes::fixed, Shapes::erased),
                         [](const auto& tested) {
                           return std::string(tested.param == Shapes::fixed ? "Fixed" : "Erased");
                         });

/// What an opset accepts has a schema in it, of no newer version. Each case is written in the
/// oldest opset and in another, which is not the same for all.
TEST(LegalizeTargets, OpsetsHoldOnlyTheirOperators) {
  int written = 0;
  int64_t other = kOldestLoweredOpset;
  for (Subject& subject : subjects(Shapes::fixed)) {
    ASSERT_TRUE(try_legalize(subject.model, refused_by_runtimes).empty()) << subject.name;
    other = other == inner_opset() ? kOldestLoweredOpset + 1 : other + 1;
    for (const int64_t opset : {kOldestLoweredOpset, other}) {
      Model model = copy(subject.model);
      if (!write_in_opset(model, opset).empty()) continue;
      ++written;
      for_each_node(*model.graph, [&](const Node& node) {
        const auto* schema = onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(opset));
        ASSERT_TRUE(schema && node.domain.empty()) << subject.name << ": " << node.op;
        for (const Attribute& attribute : node.attributes()) {
          EXPECT_TRUE(schema->attributes().contains(attribute.name))
              << subject.name << ", opset " << opset << ": " << node.op << " " << attribute.name;
        }
        EXPECT_LE(static_cast<int>(node.inputs().size()), schema->max_input()) << node.op;
      });
    }
  }
  EXPECT_GT(written, 300);
}

/// The walk above meets every operator that has a definition.
TEST(LegalizeTargets, CasesMeetEveryOperator) {
  const std::set<std::string> expected_unmet = {
      // Only passes of the runtime write these.
      "onward.BatchNormalization", "onward.LayerNormalization", "onward.SoftmaxCrossEntropyLoss"};
  std::set<std::string> met;
  for (const Shapes shapes : {Shapes::fixed, Shapes::erased}) {
    for (const Subject& subject : subjects(shapes)) {
      for_each_node(*subject.model.graph,
                    [&](const Node& node) { met.insert(node.domain + "." + node.op); });
    }
  }
  std::set<std::string> unmet;
  for (const OpDef& definition : op_defs()) {
    // What has tests of its own, since the cases have no nodes of these domains.
    if (definition.domain == "ai.onnx.ml" || definition.domain == "ai.onnx.preview") continue;
    if (is_tested_elsewhere(definition.name)) continue;
    std::string name = fmt::format("{}.{}", definition.domain, definition.name);
    if (definition.missing.empty() && !met.contains(name)) unmet.insert(std::move(name));
  }
  EXPECT_EQ(unmet, expected_unmet);
}

bool casts_to_float(const Model& body) {
  bool found = false;
  for_each_node(*body.graph, [&](const Node& node) {
    found |= node.op == "Cast" && node.int_or("to", 0) == static_cast<int64_t>(DType::f32);
  });
  return found;
}

bool is_double(const Node& node) {
  return node.input(0) && node.input(0)->type.dtype == DType::f64;
}

/// A body that computes doubles with float32 is no expansion: where bodies are used as such, no
/// double instance casts to it.
TEST(FunctionBodies, KeepDoublesWhereTheyAreExpansions) {
  const auto is_body = [](const OpDef& each) { return each.expansion == standard_body; };
  int bodies = 0;
  bool spoils_layer_norm = false;
  for (const Subject& subject : subjects(Shapes::fixed)) {
    for_each_node(*subject.model.graph, [&](const Node& node) {
      if (!is_double(node)) return;
      const OpDef* definition = find_op_def(node);
      if (definition && is_body(*definition)) {
        ++bodies;
        EXPECT_FALSE(casts_to_float(function_body(node))) << subject.name << ": " << node.op;
      }
      if (node.op == "LayerNormalization") spoils_layer_norm |= casts_to_float(function_body(node));
    });
  }
  EXPECT_TRUE(spoils_layer_norm) << "the standard's body has changed, or casts are not found";
  EXPECT_EQ(bodies > 0, std::ranges::any_of(op_defs(), is_body));
}

}  // namespace
}  // namespace onward
