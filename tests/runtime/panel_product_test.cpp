// Products in assembly, with each kind of instructions that the machine has: every number of rows,
// sums of all lengths around a chunk, either order of a in memory.

#include "runtime/kernels/panel_product.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "runtime/tile.h"

namespace onward {
namespace {

constexpr float kUntouched = 1e30F;

std::vector<float> random_numbers(int64_t count) {
  static std::mt19937 random(1);
  std::uniform_real_distribution<float> number(-1, 1);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& each : numbers) each = number(random);
  return numbers;
}

void expect_product(const PanelProduct& product, const std::vector<float>& a,
                    const std::vector<float>& b, const std::vector<float>& before,
                    const std::vector<float>& y) {
  for (int64_t row = 0; row < product.rows; ++row) {
    for (int64_t column = 0; column < product.y_row; ++column) {
      const auto at = static_cast<size_t>(row * product.y_row + column);
      if (column >= product.columns) {
        ASSERT_EQ(y[at], kUntouched) << "row " << row << ", column " << column;
        continue;
      }
      double sum = product.add ? before[at] : 0;
      for (int64_t k = 0; k < product.k; ++k) {
        const int64_t in_b = column / kPanel * product.b_panel + k * kPanel + column % kPanel;
        sum += static_cast<double>(a[static_cast<size_t>(row * product.a_row + k * product.a_k)]) *
               b[static_cast<size_t>(in_b)];
      }
      ASSERT_NEAR(y[at], sum, 2e-6 * std::sqrt(product.k))
          << "row " << row << ", column " << column;
    }
  }
}

TEST(PanelProduct, IsThatOfMatrices) {
  if (!has_avx2()) return;  // nothing calls it there
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 29}) {
    for (const int64_t k : {1, 2, 3, 4, 5, 31, 32, 33, 64, 255, 257, 300}) {
      for (const bool transposed : {false, true}) {
        PanelProduct product{.rows = rows,
                             .k = k,
                             .columns = 2 * kPanel,
                             .a_row = transposed ? 1 : k + 3,
                             .a_k = transposed ? rows + 3 : 1,
                             .b_panel = (k + 1) * kPanel,
                             .y_row = 2 * kPanel + 5,
                             .add = rows % 2 == 0,
                             .chunk = 32};
        const auto a = random_numbers(rows * (k + 3) + k * 3),
                   b = random_numbers(2 * product.b_panel);
        std::vector<float> before(static_cast<size_t>(rows * product.y_row), kUntouched);
        for (size_t i = 0; i < before.size(); ++i) {
          if (static_cast<int64_t>(i) % product.y_row < product.columns) before[i] = 0.25F;
        }
        std::vector<float> first = before;
        product.run(a.data(), b.data(), first.data(), PanelIsa::avx2);
        SCOPED_TRACE(fmt::format("{} rows, sums of {}, transposed: {}", rows, k, transposed));
        expect_product(product, a, b, before, first);
        if (!has_avx512()) continue;
        std::vector<float> second = before;
        product.run(a.data(), b.data(), second.data(), PanelIsa::avx512);
        EXPECT_EQ(first, second) << "other bits with AVX-512";
      }
    }
  }
}

}  // namespace
}  // namespace onward
