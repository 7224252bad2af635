// Small floats: to the nearest, ties to the even one, and every pattern back to itself.

#include "ir/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>

namespace onward {
namespace {

struct Rounded {
  DType dtype;
  double number;
  uint32_t pattern;
};

const Rounded kRounded[] = {
    {DType::f16, 1 + 0x1p-11, 0x3c00},      // half way to the next: the even one below
    {DType::f16, 1 + 3 * 0x1p-11, 0x3c02},  // and above
    {DType::f16, -(1 + 3 * 0x1p-11), 0xbc02},
    {DType::f16, 1 + 0x1p-11 + 0x1p-20, 0x3c01},
    {DType::f16, 65519, 0x7bff},
    {DType::f16, 65520, 0x7c00},  // half way to what would be next: infinity
    {DType::f16, 0x1p-25, 0},     // half of the smallest
    {DType::f16, 3 * 0x1p-25, 2},
    {DType::bf16, 1 + 0x1p-8, 0x3f80},
    {DType::bf16, 1 + 3 * 0x1p-8, 0x3f82},
    {DType::f8e4m3fn, 1 + 0x1p-4, 0x38},
    {DType::f8e4m3fn, 1 + 3 * 0x1p-4, 0x3a},
    {DType::f8e5m2, 1 + 0x1p-3, 0x3c},
    {DType::f4e2m1, 2.5, 0x4},
    {DType::f4e2m1, 5, 0x6},
};

TEST(FloatFormats, RoundTiesToEven) {
  for (const Rounded& tested : kRounded) {
    EXPECT_EQ(
        encode_small_float(tested.dtype, static_cast<float>(tested.number), Overflow::special),
        tested.pattern)
        << name(tested.dtype) << " " << tested.number;
  }
}

TEST(FloatFormats, EveryPatternComesBack) {
  for (const DType dtype :
       {DType::f16, DType::bf16, DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2,
        DType::f8e5m2fnuz, DType::f6e2m3, DType::f6e3m2, DType::f4e2m1}) {
    for (uint32_t pattern = 0; pattern < 1U << bits(dtype); ++pattern) {
      const float number = decode_small_float(dtype, pattern);
      // 8-bit types cannot return an infinity that was not asked to saturate.
      if (std::isnan(number) || (std::isinf(number) && bits(dtype) == 8)) continue;
      ASSERT_EQ(encode_small_float(dtype, number, Overflow::special), pattern)
          << name(dtype) << " " << pattern;
    }
  }
}

}  // namespace
}  // namespace onward
