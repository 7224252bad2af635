#include "runtime/parallel.h"

#include <gtest/gtest.h>

#include <new>
#include <vector>

namespace onward {
namespace {

constexpr double kWorthwhile = 1e9;  // nanoseconds a unit: as many threads as there are

TEST(ParallelFor, ThrowsWhatAThreadThrew) {
  const Threads threads(3);
  for (int64_t thrower = 0; thrower < 3; ++thrower) {
    const auto body = [&](int64_t first, int64_t last) {
      if (first <= thrower && thrower < last) throw std::bad_alloc();
    };
    EXPECT_THROW(parallel_for(3, kWorthwhile, body), std::bad_alloc);
  }
}

TEST(ParallelFor, GivesEachThreadItsPlace) {
  const Threads threads(3);
  std::vector<std::pair<int64_t, int64_t>> pieces(3, {6, 6});
  parallel_for(6, kWorthwhile, [&](int64_t first, int64_t last, int64_t thread) {
    pieces.at(static_cast<size_t>(thread)) = {first, last};
  });
  int64_t end = 0;
  for (const auto& [first, last] : pieces) {
    EXPECT_EQ(first, end);
    end = last;
  }
  EXPECT_EQ(end, 6);
}

}  // namespace
}  // namespace onward
