#include "runtime/finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/rows.h"
#include "runtime/tile_table.h"

namespace onward {
namespace {

template <typename T>
FoundRange range_of(const std::vector<T>& numbers, DType dtype) {
  const std::vector<int64_t> dims{static_cast<int64_t>(numbers.size())};
  return find_range(dtype, dims, reinterpret_cast<const std::byte*>(numbers.data()));
}

template <typename T>
std::vector<T> numbers(size_t count) {
  std::vector<T> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = static_cast<T>((i * 7) % 13) - T(5);
  return all;
}

template <typename T>
void expect_extremes_found_everywhere(const RowFunctions<T>& rows) {
  for (size_t count = 1; count < 40; ++count) {
    for (size_t at = 0; at < count; ++at) {
      auto each = numbers<T>(count);
      const auto n = static_cast<int64_t>(count);
      each[at] = T(100);
      EXPECT_EQ(rows.range(each.data(), n).high, T(100)) << at << " of " << count;
      each[at] = T(-100);
      EXPECT_EQ(rows.range(each.data(), n).low, T(-100)) << at << " of " << count;
      EXPECT_TRUE(rows.range(each.data(), n).finite);
      for (const double strange : {NAN, INFINITY, -INFINITY}) {
        each[at] = static_cast<T>(strange);
        EXPECT_FALSE(rows.range(each.data(), n).finite) << at << " of " << count;
      }
    }
  }
}

TEST(FindRange, FindsExtremesAndWhatIsNotFiniteAtEveryPlace) {
  expect_extremes_found_everywhere(any_machine::rows_f32());
  expect_extremes_found_everywhere(any_machine::rows_f64());
  expect_extremes_found_everywhere(row_functions<float>());
  expect_extremes_found_everywhere(row_functions<double>());
}

TEST(FindRange, TakesTheLargestFloatForFinite) {
  const float most = std::numeric_limits<float>::max();
  const auto range = range_of(std::vector<float>(50, most), DType::f32);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, double{most});
  EXPECT_EQ(range->high, double{most});
}

TEST(FindRange, CoversWhatSeveralThreadsLookAt) {
  auto many = numbers<double>(2'000'000);
  many.front() = -1e300;
  many.back() = 1e300;
  const auto range = range_of(many, DType::f64);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, -1e300);
  EXPECT_EQ(range->high, 1e300);
  many[1'999'998] = NAN;
  EXPECT_FALSE(range_of(many, DType::f64));
}

TEST(FindRange, TakesNoElementsForZero) {
  const auto range = range_of(std::vector<float>{}, DType::f32);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, 0);
  EXPECT_EQ(range->high, 0);
}

}  // namespace
}  // namespace onward
