// Reference kernels at their edges, by numbers written down: what they give is the measure of
// everything else.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "eval/interpreter.h"
#include "format/load.h"
#include "infer/infer.h"

namespace onward {
namespace {

using Numbers = std::vector<double>;

Tensor result_of(const std::string& nodes) {
  Problems ignored;  // y needs no type here
  Model model = parse_text(
      fmt::format("<ir_version: 10, opset_import: [\"\" : 20]> g () => (y) {{ {} }}", nodes),
      {.problems = &ignored});
  infer_types(model, ignored);
  return eval::outputs_of(*model.graph, {})[0];
}

struct Computed {
  const char* name;
  const char* nodes;
  Numbers expected;
};

const Computed kComputed[] = {
    {"reflection does not repeat the edge",
     "x = Constant<value = double[3] {1, 2, 3}>() p = Constant<value = int64[2] {4, 3}>() "
     "y = Pad<mode = \"reflect\">(x, p)",
     {1, 2, 3, 2, 1, 2, 3, 2, 1, 2}},
    {"wrapping goes round in both directions",
     "x = Constant<value = double[3] {1, 2, 3}>() p = Constant<value = int64[2] {4, 2}>() "
     "y = Pad<mode = \"wrap\">(x, p)",
     {3, 1, 2, 3, 1, 2, 3, 1, 2}},
    {"a class counted from the end",
     "i = Constant<value = int64[2] {-1, 0}>() d = Constant<value = int64 {3}>() "
     "v = Constant<value = double[2] {5, 7}>() y = OneHot(i, d, v)",
     {5, 5, 7, 7, 5, 5}},
    {"classes that no row has",
     "i = Constant<value = int64[2] {3, -4}>() d = Constant<value = int64 {3}>() "
     "v = Constant<value = double[2] {5, 7}>() y = OneHot(i, d, v)",
     {5, 5, 5, 5, 5, 5}},
    {"a slice backwards to the very first",
     "x = Constant<value = double[4] {1, 2, 3, 4}>() s = Constant<value = int64[1] {-1}>() "
     "e = Constant<value = int64[1] {-9}>() a = Constant<value = int64[1] {0}>() "
     "t = Constant<value = int64[1] {-2}>() y = Slice(x, s, e, a, t)",
     {4, 2}},
    {"an odd number of small elements, then others",
     "a = Constant<value = int4[3] {1, -2, 3}>() b = Constant<value = int4[2] {-4, 5}>() "
     "c = Concat<axis = 0>(a, b, a) y = Cast<to = 11>(c)",
     {1, -2, 3, -4, 5, 1, -2, 3}},
    {"an index counted from the end",
     "x = Constant<value = double[3] {1, 2, 3}>() i = Constant<value = int64[2] {-1, -3}>() "
     "y = Gather(x, i)",
     {3, 1}},
    {"scores whose exponentials overflow",
     "x = Constant<value = double[2] {1000, 1000}>() s = Softmax(x) l = LogSoftmax(x) "
     "y = Concat<axis = 0>(s, l)",
     {0.5, 0.5, -std::log(2.), -std::log(2.)}},
    {"the largest is not the first",
     "x = Constant<value = double[3] {0, 2000, 2000}>() y = Softmax(x)",
     {0, 0.5, 0.5}},
    {"a softmax in 16 bits rounds each step, as the standard's function does",
     "x = Constant<value = float[3] {1, 2, 3}>() h = Cast<to = 10>(x) s = Softmax(h) "
     "y = Cast<to = 11>(s)",
     {0.090087890625, 0.2447509765625, 0.66552734375}},
    {"a sum of exponentials beyond 16 bits",
     "x = Constant<value = float[1] {3}>() h = Cast<to = 10>(x) "
     "n = Constant<value = int64[1] {70000}>() e = Expand(h, n) s = Softmax(e) "
     "t = Cast<to = 11>(s) y = ReduceMax(t)",
     {1.430511474609375e-05}},
    {"a window in the padding behind counts no more than there is",
     "x = Constant<value = double[1,1,3] {6, 6, 6}>() "
     "y = AveragePool<kernel_shape = [2], strides = [2], ceil_mode = 1, count_include_pad = 1>(x)",
     {6, 6}},
    {"no axes, and nothing is reduced",
     "x = Constant<value = double[2] {1, 2}>() y = ReduceSum<noop_with_empty_axes = 1>(x)",
     {1, 2}},
};

TEST(ReferenceKernels, GiveTheseNumbers) {
  for (const Computed& tested : kComputed) {
    const Tensor y = result_of(tested.nodes);
    ASSERT_EQ(y.size(), static_cast<int64_t>(tested.expected.size())) << tested.name;
    for (int64_t i = 0; i < y.size(); ++i) {
      EXPECT_NEAR(y.number(i), tested.expected[static_cast<size_t>(i)], 1e-12)
          << tested.name << " " << i;
    }
  }
}

TEST(ReferenceKernels, ComputeLargeIntegersExactly) {
  // 2^53 + 1 is the first integer that no double holds.
  const std::string large =
      "x = Constant<value = int64[1] {9007199254740993}>() "
      "one = Constant<value = int64[1] {1}>() zero = Sub(one, one) ";
  EXPECT_EQ(result_of(large + "y = Add(x, zero)").integer(0), 9007199254740993);
  EXPECT_EQ(result_of(large + "y = Mul(x, one)").integer(0), 9007199254740993);
  EXPECT_EQ(result_of(large + "y = Max(x, zero)").integer(0), 9007199254740993);
  EXPECT_EQ(result_of(large + "y = ReduceSum(x)").integer(0), 9007199254740993);
  EXPECT_EQ(result_of(large + "y = ReduceMean(x)").integer(0), 9007199254740993);
  EXPECT_EQ(result_of(large + "y = Cast<to = 13>(x)").integer(0), 9007199254740993);
}

TEST(ReferenceKernels, TakeMeansOfIntegersWhoseSumOverflows) {
  struct Case {
    const char* type;
    const char* numbers;
    int64_t mean;
  };
  constexpr Case kCases[] = {
      {"int64", "9223372036854775807, 9223372036854775807, 1", 6148914691236517205},
      {"int64", "-9223372036854775808, -9223372036854775808, -3", -6148914691236517206},
      {"int64", "-3, 0", -1},
      {"uint64", "18446744073709551615, 18446744073709551615, 0, 0", 9223372036854775807},
      {"int32", "2147483647, 2147483647, 1", 1431655765},
  };
  for (const auto& [type, numbers, mean] : kCases) {
    const auto count = std::ranges::count(std::string_view(numbers), ',') + 1;
    const std::string x =
        fmt::format("x = Constant<value = {}[{}] {{{}}}>() ", type, count, numbers);
    EXPECT_EQ(result_of(x + "y = ReduceMean(x)").integer(0), mean) << numbers;
  }
}

}  // namespace
}  // namespace onward
