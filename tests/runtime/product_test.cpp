// Products of any shape, with every NaN and infinity that belongs into them.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runtime/kernels/gemm.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

/// Whole numbers, of which sums are exact, many of them 0; now and then one that is not finite.
template <typename T>
std::vector<T> drawn(int64_t count, std::mt19937& random) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T special[] = {kInfinity, -kInfinity, std::numeric_limits<T>::quiet_NaN()};
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) {
    const auto number = random() % 40;
    value = number < 3 ? special[number] : static_cast<T>(number % 4);
  }
  return values;
}

template <typename T>
void check(const Product& p, std::mt19937& random) {
  const auto a = drawn<T>(p.m * p.k, random), b = drawn<T>(p.k * p.n, random);
  std::vector<T> y(static_cast<size_t>(p.m * p.n), T(2));
  p.run(a.data(), b.data(), y.data());
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < p.k; ++l) {
        sum += a[static_cast<size_t>(p.trans_a ? l * p.m + i : i * p.k + l)] *
               b[static_cast<size_t>(p.trans_b ? j * p.k + l : l * p.n + j)];
      }
      const T expected = static_cast<T>(p.alpha) * sum + (p.beta == 0 ? T(0) : T(p.beta * 2));
      const T made = y[static_cast<size_t>(i * p.n + j)];
      ASSERT_TRUE(made == expected || (std::isnan(made) && std::isnan(expected)))
          << fmt::format("{} instead of {}: {} x {} x {}, transposed {} {}, float{}", made,
                         expected, p.m, p.k, p.n, p.trans_a, p.trans_b, 8 * sizeof(T));
    }
  }
}

TEST(Product, LosesNothingThatIsNotFinite) {
  constexpr int64_t kSizes[] = {1, 2, 7, 8, 9, 17};
  std::mt19937 random(1);
  for (const int count : {1, 2}) {
    const Threads threads(count);
    for (const int64_t m : kSizes) {
      for (const int64_t n : kSizes) {
        for (const int64_t k : {1, 2, 5, 41}) {
          for (const unsigned form : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
            const Product product{.trans_a = (form & 1U) != 0,
                                  .trans_b = (form & 2U) != 0,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .alpha = (form & 4U) != 0 ? 2.0 : 1.0,
                                  .beta = (form & 4U) != 0 ? 0.5 : 0.0};
            check<float>(product, random);
            check<double>(product, random);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward
