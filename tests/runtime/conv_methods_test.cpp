// Which kernels convolve, how precisely, and what becomes of numbers that are not finite.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/conv_method.h"
#include "runtime/parallel.h"
#include "runtime/program.h"
#include "runtime/tile.h"
#include "tests/ops/case.h"
#include "tests/runtime/both_ways.h"

namespace onward {
namespace {

struct Shape {
  int64_t images, channels, size, outputs;

  Case conv() const {
    return {"3x3",
            "y = Conv<pads = [1, 1, 1, 1]>(x, w, b)",
            {f64("x", {images, channels, size, size}, 0, 1), f64("w", {outputs, channels, 3, 3}),
             f64("b", {outputs})}};
  }
};

struct Computed {
  TensorMap outputs;
  std::string told;  // which kernels did it
};

Computed computed(const Case& tested, const TensorMap& inputs, DType dtype, ConvMethod method) {
  const ConvMethodScope scope(method);
  Model step =
      step_of(gradient_model(dtype == DType::f32 ? tested.in_f32() : tested, Shapes::fixed));
  State state(step);
  Program program(std::move(step));
  Computed result{program.run(rounded(inputs, dtype), state), {}};
  result.told = program.explain();
  return result;
}

/// The largest error in units of the largest result.
double error_of(const Tensor& given, const Tensor& exact) {
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < exact.size(); ++i) {
    worst = std::max(worst, std::fabs(given.number(i) - exact.number(i)));
    largest = std::max(largest, std::fabs(exact.number(i)));
  }
  return worst / largest;
}

/// Kernels with the most that they may be wrong by, for shapes of each class: many channels, many
/// places, few of both, and numbers of channels that fill no vector.
struct Precise {
  Shape shape;
  ConvMethod method;
  double y, d_x, d_w;
};

constexpr ConvMethod k4x4 = ConvMethod::winograd_4x4, k2x2 = ConvMethod::winograd_2x2,
                     kTaps = ConvMethod::taps;

const Precise kPrecise[] = {
    {{2, 64, 28, 64}, k4x4, 2e-6, 2e-6, 2e-6},
    {{2, 64, 28, 64}, k2x2, 6e-7, 6e-7, 8e-7},
    {{2, 64, 28, 64}, kTaps, 2e-6, 2e-6, 1e-6},
    {{2, 256, 7, 128}, k4x4, 2e-6, 2e-6, 3e-6},
    {{2, 256, 7, 128}, k2x2, 6e-7, 6e-7, 6e-7},
    {{2, 256, 7, 128}, kTaps, 3e-6, 3e-6, 1e-6},
    {{1, 8, 56, 8}, k4x4, 3e-6, 3e-6, 3e-6},
    {{1, 8, 56, 8}, k2x2, 8e-7, 8e-7, 8e-7},
    {{1, 8, 56, 8}, kTaps, 2e-6, 2e-6, 1e-6},
    {{3, 19, 13, 37}, k4x4, 3e-6, 3e-6, 3e-6},
    {{3, 19, 13, 37}, k2x2, 8e-7, 8e-7, 8e-7},
    {{3, 19, 13, 37}, kTaps, 2e-6, 2e-6, 1e-6},
    // Threads share what these sum up, and of the latter what they multiply with too.
    {{3, 131, 9, 77}, k4x4, 3e-6, 3e-6, 3e-6},
    {{2, 251, 6, 263}, k4x4, 3e-6, 3e-6, 3e-6},
    {{2, 251, 6, 263}, k2x2, 8e-7, 8e-7, 8e-7},
};

TEST(ConvMethods, ArePrecise) {
  for (const Precise& row : kPrecise) {
    const Case tested = row.shape.conv();
    const TensorMap inputs = rounded(case_tensors(tested), DType::f32);
    const Computed exact = computed(tested, inputs, DType::f64, ConvMethod::direct);
    const Computed given = computed(tested, inputs, DType::f32, row.method);
    if (has_avx2()) {
      EXPECT_NE(given.told.find(name(row.method)), std::string::npos) << given.told;
    }
    const std::pair<const char*, double> limits[] = {
        {"y", row.y}, {"d_x", row.d_x}, {"d_w", row.d_w}};
    for (const auto& [result, limit] : limits) {
      EXPECT_LE(error_of(given.outputs.at(result), exact.outputs.at(result)), limit)
          << fmt::format("{} of {} channels, {} places, by {}", result, row.shape.channels,
                         row.shape.size, name(row.method));
    }
  }
}

/// What is chosen by itself is at most twice as wrong as the direct kernels.
TEST(ConvMethods, AreAsPreciseWhereTheyAreTheFastest) {
  for (const Shape& shape : {Shape{2, 64, 28, 64}, Shape{8, 64, 8, 64}, Shape{32, 128, 4, 128},
                             Shape{2, 32, 26, 64}, Shape{2, 256, 14, 64}}) {
    const Case tested = shape.conv();
    const TensorMap inputs = rounded(case_tensors(tested), DType::f32);
    const Computed exact = computed(tested, inputs, DType::f64, ConvMethod::direct);
    const Computed direct = computed(tested, inputs, DType::f32, ConvMethod::direct);
    const Computed given = computed(tested, inputs, DType::f32, ConvMethod::fastest);
    for (const char* result : {"y", "d_x", "d_w"}) {
      const Tensor& right = exact.outputs.at(result);
      EXPECT_LE(error_of(given.outputs.at(result), right),
                2 * error_of(direct.outputs.at(result), right))
          << fmt::format("{} of {} channels, {} places\n{}", result, shape.channels, shape.size,
                         given.told);
    }
  }
}

TEST(ConvMethods, DirectNamesNoOther) {
  const Case tested = Shape{2, 64, 28, 64}.conv();
  const TensorMap inputs = case_tensors(tested);
  const std::string fastest = computed(tested, inputs, DType::f32, ConvMethod::fastest).told;
  const std::string direct = computed(tested, inputs, DType::f32, ConvMethod::direct).told;
  EXPECT_EQ(fastest.find(" % winograd 4x4 ") != std::string::npos, has_avx2()) << fastest;
  EXPECT_EQ(direct.find(" % winograd"), std::string::npos) << direct;
}

TEST(ConvMethods, GiveTheSameBitsEachTime) {
  const Case tested = Shape{2, 24, 17, 40}.conv();
  const TensorMap inputs = case_tensors(tested);
  for (const ConvMethod method : {k4x4, k2x2, kTaps}) {
    for (const int count : {1, 2, 3}) {
      const Threads threads(count);
      const TensorMap first = computed(tested, inputs, DType::f32, method).outputs;
      const TensorMap second = computed(tested, inputs, DType::f32, method).outputs;
      for (const auto& [result, tensor] : first) {
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), second.at(result).bytes()))
            << fmt::format("{} by {} in {} threads", result, name(method), count);
      }
    }
  }
}

/// Plans of one program for one batch, but for another method.
TEST(ConvMethods, HavePlansOfTheirOwn) {
  const Case tested = Shape{2, 16, 12, 16}.conv();
  const TensorMap inputs = rounded(case_tensors(tested), DType::f32);
  Model step = step_of(gradient_model(tested.in_f32(), Shapes::fixed));
  State state(step);
  Program program(std::move(step));
  for (const ConvMethod method : {k2x2, ConvMethod::direct, k2x2}) {
    const ConvMethodScope scope(method);
    program.run(inputs, state);
    EXPECT_EQ(program.explain().find(" % winograd") != std::string::npos,
              has_avx2() && method == k2x2);
  }
}

/// A number that is not finite makes all that it goes into not finite. By Winograd's kernels it
/// goes into all of its tile, but no further; and none that it goes into becomes finite.
TEST(ConvMethods, KeepWhatIsNotFiniteToItsTile) {
  const Shape shape{1, 8, 24, 8};
  const Case tested = shape.conv();
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const auto& [row, column] : {std::pair<int64_t, int64_t>{0, 0}, {11, 8}, {23, 10}}) {
      TensorMap inputs = rounded(case_tensors(tested), DType::f32);
      const auto before = inputs.at("x").data<float>();
      std::vector<float> x(before.begin(), before.end());
      x[static_cast<size_t>((3 * shape.size + row) * shape.size + column)] = bad;
      inputs.insert_or_assign("x", Tensor::of<float>(inputs.at("x").dims(), x));
      const Tensor direct =
          computed(tested, inputs, DType::f32, ConvMethod::direct).outputs.at("y");
      for (const ConvMethod method : {k4x4, k2x2}) {
        const Tensor y = computed(tested, inputs, DType::f32, method).outputs.at("y");
        const int64_t tile = method == k4x4 ? 4 : 2;
        for (int64_t i = 0; i < y.size(); ++i) {
          const int64_t top = i / shape.size % shape.size / tile * tile,
                        left = i % shape.size / tile * tile;
          const bool reads =
              row >= top - 1 && row <= top + tile && column >= left - 1 && column <= left + tile;
          if (!std::isfinite(direct.number(i))) {
            EXPECT_FALSE(std::isfinite(y.number(i))) << name(method) << " at " << i;
          }
          if (!reads) {
            EXPECT_TRUE(std::isfinite(y.number(i))) << name(method) << " at " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace onward
