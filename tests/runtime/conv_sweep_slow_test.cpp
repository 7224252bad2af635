// Convolutions of a thousand random shapes with both gradients and the bias's, in float32 in one
// thread and in two, against the reference kernels in float64: libraries choose among many ways to
// compute one, some of which are wrong for some shapes. Our own kernels take what they can, whether
// they would be chosen for it or not.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/conv_method.h"
#include "runtime/parallel.h"
#include "tests/ops/case.h"
#include "tests/runtime/both_ways.h"

namespace onward {
namespace {

constexpr int kShapes = 1000, kPerTest = 50;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  int64_t from(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool once_in(int64_t times) { return from(1, times) == 1; }
  /// Few channels, or about as many as fill vectors of eight.
  int64_t channels(int64_t max_vectors) {
    if (from(1, 3) < 3) return from(1, 9);
    return 8 * from(1, max_vectors) + from(-1, 1);
  }
  int64_t divisor_of(int64_t number) {
    const int64_t divisor = from(1, number);
    return number % divisor == 0 ? divisor : 1;
  }

 private:
  std::mt19937_64 random_;
};

Case random_conv(uint64_t seed) {
  Draw draw(seed);
  const auto rank = static_cast<size_t>(std::min<int64_t>(3, draw.from(1, 4)));
  const int64_t largest = rank == 1 ? 40 : rank == 2 ? 15 : 6;
  const int64_t batch = draw.from(1, 4);
  int64_t inputs = draw.channels(4), outputs = draw.channels(4), groups = 1;
  if (draw.once_in(4)) {  // depthwise, with one output of each channel or several
    groups = inputs;
    outputs = inputs * draw.from(1, 2);
  } else if (draw.once_in(4)) {
    groups = draw.divisor_of(inputs);
    outputs = groups * draw.from(1, 9);
  }
  const bool one_tap = draw.once_in(3), dilated = draw.once_in(4), padded = draw.once_in(2);
  const int64_t stride = draw.from(1, 3);  // of all dimensions, or else of each its own
  const bool one_stride = draw.once_in(2);
  std::vector<int64_t> x = {batch, inputs}, w = {outputs, inputs / groups};
  std::vector<int64_t> strides, dilations, before, after;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t taps = one_tap ? 1 : draw.from(1, rank == 3 ? 3 : 5);
    const int64_t dilation = dilated ? draw.from(1, 3) : 1, reach = (taps - 1) * dilation + 1;
    before.push_back(padded ? draw.from(0, reach / 2) : 0);
    after.push_back(padded ? draw.from(0, reach / 2) : 0);
    strides.push_back(one_stride ? stride : draw.from(1, 3));
    dilations.push_back(dilation);
    x.push_back(std::max(reach, draw.from(1, largest)));
    w.push_back(taps);
  }
  std::vector<int64_t> pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  const std::string text = fmt::format(
      "y = Conv<group = {}, strides = [{}], dilations = [{}], pads = [{}]>(x, w, b)", groups,
      fmt::join(strides, ", "), fmt::join(dilations, ", "), fmt::join(pads, ", "));
  return {fmt::format("x [{}] w [{}] {}", fmt::join(x, ","), fmt::join(w, ","), text),
          text,
          {f64("x", x), f64("w", w), f64("b", {outputs})}};
}

/// What Winograd's kernels take: 3x3 taps, stride 1, images of one place to several tiles.
Case random_conv_3x3(uint64_t seed) {
  Draw draw(~seed);
  const std::vector<int64_t> before = {draw.from(0, 2), draw.from(0, 2)},
                             after = {draw.from(0, 2), draw.from(0, 2)};
  const auto size = [&](size_t d) {
    return draw.from(std::max<int64_t>(1, 3 - before[d] - after[d]), 11);
  };
  const std::vector<int64_t> x = {draw.from(1, 4), draw.channels(5), size(0), size(1)},
                             w = {draw.channels(5), x[1], 3, 3};
  const std::string text = fmt::format("y = Conv<pads = [{}, {}]>(x, w, b)",
                                       fmt::join(before, ", "), fmt::join(after, ", "));
  return {fmt::format("x [{}] w [{}] {}", fmt::join(x, ","), fmt::join(w, ","), text),
          text,
          {f64("x", x), f64("w", w), f64("b", {w[0]})}};
}

/// Whether plans of these methods, in one thread and two, give what the reference kernels give.
void expect_reference(const Case& tested, std::initializer_list<ConvMethod> methods) {
  const TensorMap tensors = case_tensors(tested);
  const Outcome expected =
      interpreted(step_of(gradient_model(tested, Shapes::fixed)), rounded(tensors, DType::f64));
  ASSERT_EQ(expected.refusal, "");
  const Model model = gradient_model(tested.in_f32(), Shapes::fixed);
  for (const ConvMethod method : methods) {
    const ConvMethodScope scope(method);
    for (const int count : {1, 2}) {
      const Threads threads(count);
      const Outcome given = planned_apart(step_of(model), rounded(tensors, DType::f32));
      ASSERT_EQ(given.refusal, "");
      for (const char* result : {"y", "d_x", "d_w", "d_b"}) {
        expect_close(given.outputs.at(result), expected.outputs.at(result), 2e-5,
                     fmt::format("{} by {} in {} threads", result, name(method), count));
      }
    }
  }
}

class ConvSweep : public testing::TestWithParam<int> {};

TEST_P(ConvSweep, EqualsTheReference) {
  for (int shape = GetParam() * kPerTest; shape < (GetParam() + 1) * kPerTest; ++shape) {
    const Case tested = random_conv(static_cast<uint64_t>(shape));
    SCOPED_TRACE(fmt::format("shape {}: {}", shape, tested.name));
    expect_reference(tested, {ConvMethod::direct, ConvMethod::taps});
  }
}

TEST_P(ConvSweep, EqualsTheReferenceByWinograd) {
  constexpr int kOfWinograd = kPerTest / 4;
  for (int shape = GetParam() * kOfWinograd; shape < (GetParam() + 1) * kOfWinograd; ++shape) {
    const Case tested = random_conv_3x3(static_cast<uint64_t>(shape));
    SCOPED_TRACE(fmt::format("shape {}: {}", shape, tested.name));
    expect_reference(tested, {ConvMethod::winograd_4x4, ConvMethod::winograd_2x2});
  }
}

INSTANTIATE_TEST_SUITE_P(Fifty, ConvSweep, testing::Range(0, kShapes / kPerTest));

}  // namespace
}  // namespace onward
