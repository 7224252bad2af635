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
#include "ir/verify.h"
#include "lower/lower.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "opset/lift.h"
#include "runtime/passes/plan_passes.h"
#include "runtime/program.h"
#include "tests/ops/case.h"
#include "tests/ops/case_tangle.h"
#include "tests/passes/pass_case.h"

namespace onward {
namespace {

using Faults = std::vector<std::string>;

/// Runs the passes one by one on a step whose inputs have the types of `inputs`.
void check_passes(Model step, const TensorMap& inputs, const std::string& what) {
  for (Value* input : step.graph->inputs()) input->type = inputs.at(input->name()).type();
  std::vector<std::string> state;
  for (const TrainingInfo& info : step.training) {
    for (const Binding& binding : info.update_bindings) {
      state.push_back(binding.target->name());
      step.graph->add_output(binding.source);
    }
  }
  step.training.clear();
  expand_optimizers(step);
  infer_step_types(step);
  PassContext context(
      step, [&](const std::string& name) { return std::ranges::find(state, name) != state.end(); });
  for (const Pass& pass : plan_passes()) {
    ASSERT_NO_THROW(run_passes({&pass, 1}, context)) << what << ", " << pass.name;
    ASSERT_EQ(faults_of(step), Faults{}) << what << ", after " << pass.name;
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
          expect_close(tensor, environment.at(output).tensor(), tolerance, what + ": " + name);
        }
      }
    }
    for (const Binding& binding : plain.training[0].update_bindings) {
      plain_state.set(binding.target->name(), environment.at(binding.source).tensor());
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

TEST(StructureTest, ForwardCasesInAnyOrder) {
  std::mt19937_64 random(3);
  for (const Case& each : all_cases()) {
    if (!each.error.empty()) continue;
    Model model = case_model(each, Shapes::fixed);
    lift(model);
    check_passes(reordered(model, random), case_tensors(each), each.name);
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

/// What the passes make of a step means what the step did: with every operator that has an
/// expansion expanded, the reference kernels compute the same. Nothing but kernels knows what a
/// pool's taps are.
TEST(StructureTest, PassesKeepTheMeaning) {
  std::mt19937_64 random(4);
  int compared = 0;
  for (const Case& each : all_cases()) {
    if (!each.error.empty() || !each.has_gradient) continue;
    Model step = differentiated_step(gradient_model(each, Shapes::fixed), random);
    const TensorMap inputs = case_tensors(each);
    const auto outputs = [&] {
      eval::Environment environment;
      for (const Value* input : step.graph->inputs()) {
        environment.emplace(input, inputs.at(input->name()));
      }
      return eval::outputs_of(*step.graph, std::move(environment));
    };
    for (Value* input : step.graph->inputs()) input->type = inputs.at(input->name()).type();
    infer_step_types(step);
    const std::vector<Tensor> before = outputs();
    run_plan_passes(step, [](const std::string&) { return false; });
    const bool has_taps = std::ranges::any_of(
        step.graph->nodes(), [](const auto& node) { return node->op == "MaxPoolSaving"; });
    if (has_taps) continue;
    const std::vector<Tensor> after = outputs();
    ++compared;
    for (size_t i = 0; i < before.size(); ++i) expect_close(after[i], before[i], 1e-9, each.name);
  }
  EXPECT_GT(compared, 100);
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
  run_plan_passes(model, [](const std::string&) { return false; });
  EXPECT_EQ(structure_faults(*model.graph), Faults{});
  EXPECT_EQ(model.graph->nodes().front()->op, "BatchNormalization");
  EXPECT_EQ(model.graph->nodes().back()->input(0)->name(), "h");
}

struct BreakingPass {
  void (*run)(PassContext&);
  const char* fault;
};

const BreakingPass kBreaking[] = {
    {[](PassContext& c) { c.graph.nodes().front()->set_input(0, c.graph.outputs()[0]); },
     "node 'a' (Neg) reads 'b' before it is computed"},
    {[](PassContext& c) { c.graph.add_output(c.graph.inputs()[0]); }, "it gives 2 outputs, not 1"},
    {[](PassContext& c) { c.graph.outputs()[0]->type.dtype = DType::f64; },
     "the output 'b' is f64[2], not f32[2]"},
};

TEST(StructureTest, APassThatBreaksAGraphIsNamed) {
  for (const auto& [run, fault] : kBreaking) {
    Model model = parse_text(std::string(kHeader) + R"(
g (float[2] x) => (float[2] b) { a = Neg(x)  b = Abs(a) })");
    const Pass pass[] = {{"breaking", run}};
    PassContext context(model, [](const std::string&) { return false; });
    try {
      run_passes(pass, context);
      FAIL() << "was not found: " << fault;
    } catch (const Bug& bug) {
      EXPECT_EQ(bug.what(), std::string("the pass 'breaking' broke the graph: ") + fault);
    }
  }
}

}  // namespace
}  // namespace onward
