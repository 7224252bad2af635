// Every pass on small graphs: what it makes of them, and what it leaves alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "lower/shapes.h"
#include "runtime/passes/plan_passes.h"
#include "tests/ops/case_tangle.h"
#include "tests/passes/pass_case.h"

namespace onward {
namespace {

void run(const PassCase& tested, Model& model) {
  const auto is_state = [&](const std::string& name) {
    return std::ranges::find(tested.state, name) != tested.state.end();
  };
  PassContext context(model, is_state);
  const Pass pass[] = {{tested.name, tested.pass}};
  run_passes(pass, context);
  EXPECT_EQ(faults_of(model), std::vector<std::string>{});
}

class PassCases : public testing::TestWithParam<PassCase> {};

TEST_P(PassCases, BeforeAndAfter) {
  const PassCase& tested = GetParam();
  Model model = graph_of(tested.before);
  run(tested, model);
  EXPECT_EQ(lines_of(model),
            lines_of(graph_of(tested.after.empty() ? tested.before : tested.after)));
}

/// Names and places may differ then, but not what the graph is made of.
TEST_P(PassCases, InAnyOrderOfNodes) {
  const PassCase& tested = GetParam();
  if (tested.in_this_order) return;
  Model expected = graph_of(tested.before);
  run(tested, expected);
  std::mt19937_64 random(1);
  for (int i = 0; i < 8; ++i) {
    Model model = reordered(graph_of(tested.before), random);
    run(tested, model);
    EXPECT_EQ(operators_of(model), operators_of(expected));
  }
}

/// Nothing is left to do: what a pass gives, it leaves alone.
TEST_P(PassCases, TwiceIsAsOnce) {
  const PassCase& tested = GetParam();
  Model model = graph_of(tested.before);
  run(tested, model);
  const auto once = lines_of(model);
  run(tested, model);
  EXPECT_EQ(lines_of(model), once);
}

INSTANTIATE_TEST_SUITE_P(All, PassCases, testing::ValuesIn(all_pass_cases()),
                         [](const auto& tested) {
                           std::string name = tested.param.name;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name + "_" + std::to_string(tested.index);
                         });

TEST(PassCases, AreThereForEveryPass) {
  std::vector<Pass> passes(plan_passes().begin(), plan_passes().end());
  passes.push_back({"settle-shapes", settle_shapes});
  passes.push_back({"settle-windows", settle_windows});
  const std::vector<PassCase> cases = all_pass_cases();
  for (const Pass& pass : passes) {
    const auto count = [&](bool changes) {
      return std::ranges::count_if(cases, [&](const PassCase& each) {
        return each.pass == pass.run && each.after.empty() != changes;
      });
    };
    EXPECT_GT(count(true), 0) << pass.name << ": no case where it changes a graph";
    EXPECT_GT(count(false), 0) << pass.name << ": no case that it has to leave alone";
  }
}

}  // namespace
}  // namespace onward
