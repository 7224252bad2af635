// Sizes that have a name alone: what follows from the name, and nothing more.

#include "ir/dim_arithmetic.h"

#include <gtest/gtest.h>

namespace onward {
namespace {

const Dim kN = Dim::named("N"), kM = Dim::named("M"), kUnknown = Dim{};

TEST(DimArithmetic, KnowsASizeByItsNameAlone) {
  EXPECT_TRUE(same(kN, kN));
  EXPECT_TRUE(same(Dim::known(3), Dim::known(3)));
  EXPECT_FALSE(same(kN, kM));
  EXPECT_FALSE(same(kN, kUnknown));
  EXPECT_FALSE(same(kUnknown, kUnknown)) << "two sizes that nobody knows may differ";
  EXPECT_FALSE(same(kN, Dim::known(3)));
}

TEST(DimArithmetic, ComputesWhatNamesAllow) {
  EXPECT_EQ(subtract(kN, kN), Dim::known(0));
  EXPECT_EQ(subtract(kN, kM), kUnknown);
  EXPECT_EQ(subtract(kN, Dim::known(0)), kN);
  EXPECT_EQ(multiply(kN, Dim::known(1)), kN);
  EXPECT_EQ(multiply(kN, Dim::known(0)), Dim::known(0));
  EXPECT_EQ(add(kN, kM), kUnknown);
  EXPECT_EQ(divide(kN, Dim::known(1)), kN);
  EXPECT_EQ(divide(Dim::known(7), Dim::known(0)), kUnknown);
  EXPECT_EQ(larger(kN, kN), kN);
  EXPECT_EQ(larger(kN, kM), kUnknown);
  EXPECT_EQ(is_equal(kN, kN), Dim::known(1));
  EXPECT_EQ(is_equal(kN, kM), kUnknown);
  EXPECT_EQ(is_less(kN, Dim::known(-1)), Dim::known(0)) << "no size is negative";
  EXPECT_EQ(is_less(kN, Dim::known(5)), kUnknown);
}

}  // namespace
}  // namespace onward
