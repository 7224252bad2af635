// Every operator that Onward knows has a call in every framework, or plainer operators to be
// written in, or its row among the calls gives the reason why not.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "emit/calls.h"
#include "emit/coverage.h"
#include "ops/op_def.h"

namespace onward::emit {
namespace {

bool is_refused_with_reason(std::string_view op, Target target) {
  return std::ranges::any_of(
      calls(), [&](const CallRow& row) { return row.op == op && !row.cell(target).gap.empty(); });
}

TEST(Emission, OfEveryOperatorOrAReason) {
  size_t operators = 0;
  for (const OpDef& definition : op_defs()) {
    if (!definition.domain.empty()) continue;  // ours, and the optimizers, which jobs say
    if (!definition.missing.empty()) continue;
    ++operators;
    for (const Target target : {Target::torch, Target::keras}) {
      const bool has_call = can_emit(definition.name, target);
      const bool has_reason = is_refused_with_reason(definition.name, target);
      EXPECT_FALSE(has_call && has_reason) << definition.name << " in " << name(target);
      EXPECT_TRUE(has_call || has_reason || definition.expansion)
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
    EXPECT_FALSE(gap.part.empty() || gap.reason.empty()) << gap.op;
    EXPECT_TRUE(gap.torch || gap.keras) << gap.op;
  }
}

}  // namespace
}  // namespace onward::emit
