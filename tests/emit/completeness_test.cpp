// Every operator that Onward knows has a call in every framework, or plainer operators to be
// written in, or its row among the calls gives the reason why not.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "emit/coverage.h"
#include "onward/error.h"
#include "ops/op_def.h"

namespace onward::emit {
namespace {

TEST(Emission, OfEveryOperatorOrAReason) {
  size_t operators = 0;
  for (const OpDef& definition : op_defs()) {
    if (!definition.domain.empty()) continue;  // ours, and the optimizers, which jobs say
    if (!definition.missing.empty()) continue;
    ++operators;
    for (const Dialect* dialect : dialects()) {
      const bool has_call = can_emit(definition.name, *dialect);
      const bool has_reason = !why_not(definition.name, *dialect).empty();
      EXPECT_FALSE(has_call && has_reason) << definition.name << " in " << dialect->name;
      EXPECT_TRUE(has_call || has_reason || definition.expansion)
          << definition.name << " in " << dialect->name;
    }
  }
  EXPECT_GT(operators, 65U);
}

void expect_order(std::span<const CallRow> rows) {
  EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &CallRow::op));
  std::set<std::string_view> ops;
  for (const CallRow& row : rows) EXPECT_TRUE(ops.insert(row.op).second) << row.op;
}

TEST(Emission, TablesAreInOrder) {
  expect_order(calls_of_none());
  for (const Dialect* dialect : dialects()) {
    SCOPED_TRACE(dialect->name);
    EXPECT_FALSE(dialect->calls.empty());
    expect_order(dialect->calls);
    expect_order(dialect->shared_calls);
    EXPECT_TRUE(std::ranges::is_sorted(dialect->gaps, {}, &EmitGap::op));
    EXPECT_TRUE(std::ranges::is_sorted(dialect->shared_gaps, {}, &EmitGap::op));
  }
}

/// A row that says what the shared one says already would hide changes to that.
TEST(Emission, OwnRowsDifferFromSharedOnes) {
  for (const Dialect* dialect : dialects()) {
    for (const CallRow& row : dialect->calls) {
      const auto shared = std::ranges::find(dialect->shared_calls, row.op, &CallRow::op);
      if (shared == dialect->shared_calls.end()) continue;
      EXPECT_FALSE(row.cell.pattern == shared->cell.pattern &&
                   row.cell.emitter == shared->cell.emitter && row.cell.gap == shared->cell.gap)
          << row.op << " in " << dialect->name;
    }
  }
}

TEST(Emission, GapsHaveReasonsAndOperators) {
  for (const Dialect* dialect : dialects()) {
    for (const auto gaps : {dialect->gaps, dialect->shared_gaps}) {
      for (const EmitGap& gap : gaps) {
        EXPECT_FALSE(gap.part.empty() || gap.reason.empty()) << gap.op;
        EXPECT_TRUE(can_emit(gap.op, *dialect)) << gap.op << " in " << dialect->name;
      }
    }
  }
}

TEST(Emission, UnknownFrameworksAreRefused) {
  try {
    find_dialect("caffe");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("torch, keras"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace onward::emit
