// Expansions: they end, and they compute what their operators do.

#include "ops/legalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "eval/interpreter.h"
#include "eval/kernel.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/dependence.h"
#include "onward/error.h"
#include "ops/function_body.h"
#include "ops/infer_step.h"
#include "opset/lift.h"
#include "tests/ops/case.h"

namespace onward {
namespace {

using OperatorSet = std::set<std::string>;

std::string name_of(const Node& node) {
  return node.domain.empty() ? node.op : node.domain + "." + node.op;
}

/// A target that takes everything but what has an expansion. ConvTranspose and ConvGradX are the
/// same product, each the other's expansion: every target takes one of the two.
const LegalizationTarget kPlainest{
    .failure = "there is nothing plainer", .refuses = [](const Node& node) -> std::string {
      const bool is_plain = !has_expansion(node) || node.op == "ConvGradX";
      return is_plain ? "" : "it can be plainer";
    }};

/// Which operators each operator's expansion uses, over the steps of all cases.
std::map<std::string, OperatorSet> uses_of_expansions() {
  std::map<std::string, OperatorSet> uses;
  for (const Case& tested : all_cases()) {
    if (!tested.error.empty() || !tested.has_gradient) continue;
    Model step = join_step(gradient_model(tested, Shapes::fixed), 0);
    replace_gradients(step);
    infer_step_types(step);
    Graph& graph = *step.graph;
    Names names(step);
    for (auto at = graph.nodes().begin(); at != graph.nodes().end(); ++at) {
      if (!has_expansion(**at)) continue;
      const size_t count = graph.nodes().size();
      Builder builder(graph, at->get(), names);
      expand_node(**at, builder);
      auto added = at;
      for (size_t i = count; i < graph.nodes().size(); ++i) {
        uses[name_of(**at)].insert(name_of(**--added));
      }
    }
  }
  return uses;
}

TEST(Legalize, ExpansionsLeadDownwards) {
  auto uses = uses_of_expansions();
  EXPECT_GT(uses.size(), 10);
  EXPECT_EQ(uses.at("ConvTranspose").erase("onward.ConvGradX"), 1);  // as kPlainest says
  std::map<std::string, int> state;                                  // 1: being walked, 2: done
  std::function<void(const std::string&)> walk = [&](const std::string& op) {
    ASSERT_NE(state[op], 1) << op << " leads back to itself";
    if (state[op] == 2) return;
    state[op] = 1;
    if (const auto found = uses.find(op); found != uses.end()) {
      for (const std::string& used : found->second) walk(used);
    }
    state[op] = 2;
  };
  for (const auto& [op, used] : uses) walk(op);
}

using CaseOutputs = std::vector<Tensor>;

CaseOutputs outputs_of(const Model& model, const Case& tested) {
  eval::Environment environment;
  const TensorMap tensors = case_tensors(tested);
  for (const Value* input : model.graph->inputs()) {
    environment.emplace(input, tensors.at(input->name()));
  }
  return eval::outputs_of(*model.graph, environment);
}

void expect_same(const CaseOutputs& got, const CaseOutputs& wanted, bool in_float32 = false) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].type(), wanted[i].type());
    ASSERT_EQ(got[i].size(), wanted[i].size());
    const double bound = bits(got[i].dtype()) == 64 && !in_float32 ? 1e-13 : 1e-5;
    for (int64_t e = 0; e < got[i].size(); ++e) {
      const double a = got[i].number(e), b = wanted[i].number(e);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      EXPECT_NEAR(a, b, bound * std::max(1.0, std::fabs(b))) << "element " << e;
    }
  }
}

bool draws(const Node& node) { return has_traits(node, kRandom); }

Model lifted_model(const Case& tested) {
  Model model = case_model(tested, Shapes::fixed);
  lift(model);
  infer_step_types(model);
  return model;
}

/// The cases that have a node of which `wanted` is true, and no random ones.
std::vector<Case> cases_with(const std::function<bool(const Node&)>& wanted) {
  std::vector<Case> cases;
  for (const Case& tested : all_cases()) {
    if (!tested.error.empty()) continue;
    const Model model = lifted_model(tested);
    bool found = false, random = false;
    for_each_node(*model.graph, [&](const Node& node) {
      found |= wanted(node);
      random |= draws(node);
    });
    if (found && !random) cases.push_back(tested);
  }
  return cases;
}

std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name + "_" + std::to_string(info.index);
}

class Expansions : public testing::TestWithParam<Case> {};

TEST_P(Expansions, ComputeWhatTheirOperatorsDo) {
  Model model = lifted_model(GetParam());
  const CaseOutputs wanted = outputs_of(model, GetParam());
  legalize(model, kPlainest);
  expect_same(outputs_of(model, GetParam()), wanted);
}

INSTANTIATE_TEST_SUITE_P(All, Expansions, testing::ValuesIn(cases_with([](const Node& node) {
                           return has_expansion(node);
                         })),
                         test_name);

/// Where the standard defines an operator by others, that is one more oracle. Not where its body
/// computes doubles with numbers in float32, as those of normalizations, of Attention and of Gelu
/// by tanh do, where it overflows, contradicts the operator's formula, or has operators that
/// nothing computes; nor where a graph inside reads those around it, which no function can.
bool is_judged_by_body(const Node& node) {
  static const OperatorSet in_float32 = {
      "Attention",  "BlackmanWindow",     "GroupNormalization",        "HammingWindow",
      "HannWindow", "LayerNormalization", "MeanVarianceNormalization", "RMSNormalization",
      "ReduceL2"};
  if (!has_function_body(node.domain, node.op) || !outer_reads(node).empty()) return false;
  const bool overflows = node.op == "ReduceLogSumExp";
  const bool contradicts = node.op == "Celu" && node.float_or("alpha", 1) < 0;
  if (in_float32.contains(node.op) || overflows || contradicts) return false;
  if (node.string_or("approximate", "none") != "none") return false;
  bool is_computed = true;
  const Model body = function_body(node);
  for_each_node(*body.graph, [&](const Node& each) {
    is_computed &= eval::find_kernel(each.domain, each.op) || has_expansion(each) ||
                   has_function_body(each.domain, each.op);
  });
  return is_computed;
}

/// What nothing computes, as an operator may be that only the body of another one has.
bool is_known_by_body(const Node& node) {
  return !eval::find_kernel(node.domain, node.op) && !has_expansion(node) &&
         has_function_body(node.domain, node.op);
}

/// Whether a graph has a number that float32 rounded, as 1/6 in the body of HardSwish. Those of a
/// few binary digits were meant.
bool has_rounded_number(const Graph& graph) {
  bool found = false;
  for_each_node(graph, [&](const Node& node) {
    for (const Attribute& attribute : node.attributes()) {
      const float* number = std::get_if<float>(&attribute.value);
      found |= number && std::trunc(*number * 1024) != *number * 1024;
    }
  });
  return found;
}

class FunctionBodies : public testing::TestWithParam<Case> {};

TEST_P(FunctionBodies, ComputeWhatTheirOperatorsDo) {
  Model model = lifted_model(GetParam());
  const CaseOutputs wanted = outputs_of(model, GetParam());
  Names names(model);
  const auto replace = [&](bool (*is_replaced)(const Node&)) {
    bool any = false;
    for (auto at = model.graph->nodes().begin(); at != model.graph->nodes().end();) {
      Node& node = **at++;
      if (!is_replaced(node)) continue;
      Builder builder(*model.graph, &node, names);
      replace_node(model, node, standard_body(ExpandContext(node, builder)));
      any = true;
    }
    return any;
  };
  replace(is_judged_by_body);
  lift(model);
  bool in_float32 = has_rounded_number(*model.graph);
  for (infer_step_types(model); replace(is_known_by_body); infer_step_types(model)) {
    lift(model);
    in_float32 |= has_rounded_number(*model.graph);
  }
  expect_same(outputs_of(model, GetParam()), wanted, in_float32);
}

INSTANTIATE_TEST_SUITE_P(All, FunctionBodies, testing::ValuesIn(cases_with([](const Node& node) {
                           return has_function_body(node.domain, node.op);
                         })),
                         test_name);

std::string message_of(const std::string& nodes, const LegalizationTarget& target) {
  Model model = parse_text(
      "<ir_version: 10, opset_import: [\"\" : 22, \"onward\" : 1]>"
      "g (float[2] x, float[] u) => (float[] y) {" +
      nodes + "}");
  lift(model);
  try {
    legalize(model, target);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was taken";
}

TEST(Legalize, SaysWhatIsLeftWhereAndWhy) {
  const LegalizationTarget target{.failure = "the graph cannot be squared",
                                  .refuses = [](const Node& node) -> std::string {
                                    if (node.op == "SwapLastTwo") return "it is ours";
                                    return node.op == "Sin" || node.op == "Cos" ? "it is too round"
                                                                                : "";
                                  },
                                  .advice = "declare shapes"};
  EXPECT_EQ(message_of("y = Exp(x)", target), "it was taken");
  EXPECT_EQ(message_of("a = Cos(x) y = Sin(a)", target),
            "the graph cannot be squared:\n"
            "  node 'a' (Cos): it is too round\n"
            "  node 'y' (Sin): it is too round");
  EXPECT_EQ(message_of("a = Cos(x) b = Cos(a) y = Cos(b)", target),
            "the graph cannot be squared:\n  nodes 'a', 'b', 'y' (Cos): it is too round");
  EXPECT_EQ(
      message_of("a = Cos(x) b = Cos(a) c = Cos(b) d = Cos(c) y = Cos(d)", target),
      "the graph cannot be squared:\n  nodes 'a', 'b', 'c' and 2 more (Cos): it is too round");
  EXPECT_EQ(message_of("a = onward.SwapLastTwo(u) b = onward.SwapLastTwo(u) y = Add(a, b)", target),
            "the graph cannot be squared:\n"
            "  nodes 'a', 'b' (onward.SwapLastTwo): it is ours, and cannot be decomposed: the rank "
            "of 'u' must be known\n"
            "declare shapes");
}

/// An expansion that fails halfway leaves nothing behind that could be refused itself.
TEST(Legalize, FailedExpansionsLeaveNothing) {
  Model model = parse_text(
      "<ir_version: 10, opset_import: [\"\" : 22, \"onward\" : 1]>"
      "g (float[] dy, float[] w, int64[] s) => (float[] y) { y = onward.ConvGradX(dy, w, s) }");
  const size_t count = model.graph->nodes().size();
  const auto refusals = try_legalize(
      model, [](const Node& node) { return node.domain == kInternalDomain ? "it is ours" : ""; });
  ASSERT_EQ(refusals.size(), 1);
  EXPECT_EQ(refusals[0].reason,
            "it is ours, and cannot be decomposed: the rank of 'dy' must be known");
  EXPECT_EQ(model.graph->nodes().size(), count);
}

}  // namespace
}  // namespace onward
