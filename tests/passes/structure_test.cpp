// Whatever the order of a step's nodes, differentiation and every pass leave a graph in which
// values are computed before they are read, each has one name, and all types are what inference
// says.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "eval/interpreter.h"
#include "format/load.h"
#include "grad/differentiate.h"
#include "grad/step.h"
#include "ir/clone.h"
#include "ir/verify.h"
#include "lower/lower.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "passes/passes.h"
#include "runtime/program.h"
#include "tests/ops/case.h"
#include "tests/ops/case_tangle.h"

namespace onward {
namespace {

using Faults = std::vector<std::string>;

/// Types that contradict an inference that begins with inputs and initializers alone. (It may know
/// less: not all that was known of shapes can be seen in the graph that is left.)
Faults type_faults(const Model& step) {
  Model copy;
  copy.ir_version = step.ir_version;
  copy.opsets = step.opsets;
  ValueMap map;
  clone_into(*step.graph, *copy.graph, map);
  for (const auto& node : copy.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (output) output->type = {};
    }
  }
  infer_step_types(copy);
  Faults faults;
  for (const auto& node : step.graph->nodes()) {
    for (const auto& output : node->outputs()) {
      if (!output) continue;
      const Type& inferred = map.at(output.get())->type;
      if (!conflict(output->type, inferred)) continue;
      faults.push_back(fmt::format("'{}' of {} is {}, but inferred as {}", output->name(), node->op,
                                   to_string(output->type), to_string(inferred)));
    }
  }
  return faults;
}

/// Runs the passes one by one on a step whose inputs have the types of `inputs`.
void check_passes(Model step, const TensorMap& inputs, const std::string& what) {
  for (Value* input : step.graph->inputs()) input->type = inputs.at(input->name()).type();
  std::vector<std::string> state;
  for (const Binding& binding : step.training.at(0).update_bindings) {
    state.push_back(binding.target->name());
    step.graph->add_output(binding.source);
  }
  step.training.clear();
  expand_optimizers(step);
  infer_step_types(step);
  PassContext context(
      step, [&](const std::string& name) { return std::ranges::find(state, name) != state.end(); });
  for (const Pass& pass : step_passes()) {
    pass.run(context);
    ASSERT_EQ(structure_faults(*step.graph), Faults{}) << what << ", after " << pass.name;
    ASSERT_EQ(type_faults(step), Faults{}) << what << ", after " << pass.name;
  }
}

Model differentiated_step(const Model& model, std::mt19937_64& random) {
  Model step = reordered(join_step(model, 0), random);
  replace_gradients(step);
  return step;
}

void expect_close(const Tensor& a, const Tensor& b, double tolerance, const std::string& what) {
  ASSERT_EQ(to_string(a.type()), to_string(b.type())) << what;
  for (int64_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a.number(i), b.number(i), tolerance * std::max(1.0, std::fabs(b.number(i))))
        << what << ", element " << i;
  }
}

/// Two steps by plan and by the interpreter, in different orders of nodes.
void compare_orders(const Model& model, DType dtype, const std::string& what) {
  std::mt19937_64 random(1);
  const double tolerance = dtype == DType::f64 ? 1e-9 : 1e-3;
  State planned_state(model), plain_state(model);
  Program planned(reordered(differentiated_step(model, random), random));
  const Model plain = differentiated_step(model, random);
  const TensorMap inputs = tangled_inputs(dtype);
  for (int i = 0; i < 2; ++i) {
    eval::Environment environment;
    for (const Value* input : plain.graph->inputs()) {
      environment.emplace(input, inputs.at(input->name()));
    }
    for (const Value* value : plain.graph->initializers()) {
      if (plain_state.has(value->name())) {
        environment.emplace(value, plain_state.get(value->name()));
      }
    }
    eval::run_graph(*plain.graph, environment);
    for (const auto& [name, tensor] : planned.run(inputs, planned_state)) {
      for (const Value* output : plain.graph->outputs()) {
        if (output->name() == name) {
          expect_close(tensor, environment.at(output), tolerance, what + ": " + name);
        }
      }
    }
    for (const Binding& binding : plain.training[0].update_bindings) {
      plain_state.set(binding.target->name(), environment.at(binding.source));
    }
    for (const std::string& name : planned_state.names()) {
      expect_close(planned_state.get(name), plain_state.get(name), tolerance, what + ": " + name);
    }
  }
  EXPECT_EQ(planned.explain().find("reference kernels"), std::string::npos) << "not planned";
}

TEST(StructureTest, CasesInAnyOrder) {
  std::mt19937_64 random(1);
  for (const Case& each : all_cases()) {
    if (!each.error.empty() || !each.has_gradient) continue;
    const Model model = gradient_model(each, Shapes::fixed, each.smooth ? 2 : 1);
    const Model step = differentiated_step(model, random);
    ASSERT_EQ(structure_faults(*step.graph), Faults{}) << each.name;
    check_passes(reordered(step, random), case_tensors(each), each.name);
  }
}

TEST(StructureTest, TanglesInAnyOrder) {
  std::mt19937_64 random(2);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const DType dtype = seed % 2 ? DType::f64 : DType::f32;
    const Model model = tangled_model(seed, dtype);
    const Model step = differentiated_step(model, random);
    ASSERT_EQ(structure_faults(*step.graph), Faults{}) << seed;
    check_passes(reordered(step, random), tangled_inputs(dtype), std::to_string(seed));
    const LoweredStep lowered = lower_step(model, 0);
    ASSERT_EQ(structure_faults(*lowered.model.graph), Faults{}) << seed;
  }
}

TEST(StructureTest, OrderDoesNotChangeResults) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const DType dtype = seed % 2 ? DType::f64 : DType::f32;
    compare_orders(tangled_model(seed, dtype), dtype, fmt::format("tangle {}", seed));
  }
}

const char* const kHeader = "<ir_version: 10, opset_import: [\"\" : 21]>\n";

TEST(StructureTest, FaultsAreNamed) {
  Model model = parse_text(std::string(kHeader) + R"(
g (float[2] x) => (float[2] c) { a = Neg(x)  b = Abs(a)  c = Exp(b) })");
  const auto& nodes = model.graph->nodes();
  Node &a = *nodes.front(), &b = **std::next(nodes.begin());
  EXPECT_EQ(structure_faults(*model.graph), Faults{});
  a.set_input(0, b.output(0));
  EXPECT_EQ(structure_faults(*model.graph),
            Faults{"node 'a' (Neg) reads 'b' before it is computed"});
  a.set_input(0, model.graph->inputs()[0]);
  model.graph->rename(b.output(0), "a");
  EXPECT_EQ(structure_faults(*model.graph), Faults{"two values are called 'a'"});
}

TEST(StructureTest, BranchesMayUseTheSameNames) {
  const Model model = parse_text(std::string(kHeader) + R"(
g (float[2] x, bool c) => (float[2] y) {
  y = If(c) <then_branch = t () => (float[2] r) { r = Neg(x) },
             else_branch = e () => (float[2] r) { r = Abs(x) }>
})");
  EXPECT_EQ(structure_faults(*model.graph), Faults{});
}

/// A pass that looks at all uses of a value must not take one inside of a branch for its own.
TEST(StructureTest, UsesInsideOfBranchesStayThere) {
  Model model = parse_text(std::string(kHeader) + R"(
g (float[2,3] x, bool c) => (float[2,3] y, bool[2,3] m)
<float[3] s = {1, 2, 3}, float[3] b = {0, 1, 0}, float[3] mean = {0, 0, 0}, float[3] var = {1, 1, 1}, float zero = {0}> {
  h = BatchNormalization(x, s, b, mean, var)
  y = If(c) <then_branch = t () => (float[2,3] r) { r = Relu(h) },
             else_branch = e () => (float[2,3] q) { q = Abs(x) }>
  m = Greater(h, zero)
})");
  infer_step_types(model);
  run_step_passes(model, [](const std::string&) { return false; });
  EXPECT_EQ(structure_faults(*model.graph), Faults{});
  EXPECT_EQ(model.graph->nodes().front()->op, "BatchNormalization");
  EXPECT_EQ(model.graph->nodes().back()->input(0)->name(), "h");
}

TEST(StructureTest, APassThatBreaksAGraphIsNamed) {
  Model model = parse_text(std::string(kHeader) + R"(
g (float[2] x) => (float[2] b) { a = Neg(x)  b = Abs(a) })");
  constexpr Pass kBreaking[] = {{"breaking", [](PassContext& c) {
                                   c.graph.nodes().front()->set_input(0, c.graph.outputs()[0]);
                                 }}};
  PassContext context(model, [](const std::string&) { return false; });
  try {
    run_passes(kBreaking, context);
    FAIL() << "was not found";
  } catch (const Bug& bug) {
    EXPECT_STREQ(
        bug.what(),
        "the pass 'breaking' broke the graph: node 'a' (Neg) reads 'b' before it is computed");
  }
}

}  // namespace
}  // namespace onward
