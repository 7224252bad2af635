// Every operator that Onward knows is said in every framework, or a line in the list of gaps gives
// the reason.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "emit/calls.h"
#include "emit/coverage.h"
#include "ops/op_def.h"

namespace onward::emit {
namespace {

bool is_whole_gap(std::string_view op, Target target) {
  return std::ranges::any_of(emit_gaps(), [&](const EmitGap& gap) {
    return gap.op == op && gap.part.empty() && (target == Target::torch ? gap.torch : gap.keras);
  });
}

TEST(Emission, OfEveryOperatorOrAReason) {
  size_t operators = 0;
  for (const OpDef& definition : op_defs()) {
    if (!definition.domain.empty()) continue;  // ours, and the optimizers, which jobs say
    ++operators;
    for (const Target target : {Target::torch, Target::keras}) {
      EXPECT_NE(can_emit(definition.name, target), is_whole_gap(definition.name, target))
          << definition.name << " in " << name(target);
    }
  }
  EXPECT_GT(operators, 65U);
}

TEST(Emission, TablesAreInOrder) {
  EXPECT_TRUE(std::ranges::is_sorted(calls(), {}, &CallRow::op));
  EXPECT_TRUE(std::ranges::is_sorted(emit_gaps(), {}, &EmitGap::op));
  std::set<std::string_view> ops;
  for (const CallRow& row : calls()) EXPECT_TRUE(ops.insert(row.op).second) << row.op;
}

TEST(Emission, GapsHaveReasons) {
  for (const EmitGap& gap : emit_gaps()) {
    EXPECT_FALSE(gap.reason.empty()) << gap.op;
    EXPECT_TRUE(gap.torch || gap.keras) << gap.op;
  }
}

}  // namespace
}  // namespace onward::emit
