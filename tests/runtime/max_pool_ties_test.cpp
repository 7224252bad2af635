// MaxPool's gradient goes to the first of the largest elements of a window, and where there is a
// NaN to the last one: on the reference kernels and on those of plans, in one to three dimensions.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "format/load.h"
#include "tests/runtime/both_ways.h"

namespace onward {
namespace {

using Dims = std::vector<int64_t>;

struct PoolCase {
  Dims size, kernel, strides, dilations, pads;
};

const PoolCase kPools[] = {
    {{9}, {3}, {1}, {1}, {1, 1}},
    {{11}, {2}, {2}, {3}, {0, 2}},
    {{6, 7}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}},
    {{6, 7}, {3, 2}, {1, 2}, {1, 1}, {1, 0, 1, 1}},
    {{8, 8}, {3, 3}, {2, 1}, {1, 2}, {0, 1, 0, 1}},
    {{4, 5, 3}, {2, 2, 2}, {2, 2, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}},
    {{4, 5, 4}, {3, 2, 2}, {1, 2, 2}, {1, 2, 1}, {1, 0, 1, 1, 0, 0}},
};

int64_t product(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

Dims position(int64_t index, const Dims& dims) {
  Dims at(dims.size());
  for (size_t d = dims.size(); d-- > 0; index /= dims[d]) at[d] = index % dims[d];
  return at;
}

Dims outputs_of(const PoolCase& pool) {
  Dims outputs;
  const size_t rank = pool.size.size();
  for (size_t d = 0; d < rank; ++d) {
    const int64_t reach = (pool.kernel[d] - 1) * pool.dilations[d] + 1;
    const int64_t room = pool.size[d] + pool.pads[d] + pool.pads[rank + d] - reach;
    outputs.push_back(room / pool.strides[d] + 1);
  }
  return outputs;
}

/// Where the gradient of one window of an image goes.
int64_t chosen(const PoolCase& pool, const double* image, const Dims& window) {
  int64_t best = -1;
  for (int64_t tap = 0; tap < product(pool.kernel); ++tap) {
    const Dims in_window = position(tap, pool.kernel);
    int64_t index = 0;
    bool inside = true;
    for (size_t d = 0; d < window.size(); ++d) {
      const int64_t at =
          window[d] * pool.strides[d] + in_window[d] * pool.dilations[d] - pool.pads[d];
      inside &= at >= 0 && at < pool.size[d];
      index = index * pool.size[d] + at;
    }
    if (!inside) continue;
    if (best < 0 || std::isnan(image[index]) || image[index] > image[best]) best = index;
  }
  return best;
}

std::string list(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

Model pool_step(const PoolCase& pool, const char* type) {
  return step_of(parse_text(fmt::format(
      R"(<ir_version: 10, opset_import: ["" : 20, "ai.onnx.preview.training" : 1]>
g ({0}[] x) => ({0}[] y) {{
  y = MaxPool<kernel_shape = {1}, strides = {2}, dilations = {3}, pads = {4}>(x)
}}
training_info {{ algorithm a ({0}[] u) => ({0}[] dx) {{
  weighted = Mul(y, u)
  loss = ReduceSum<keepdims = 0>(weighted)
  dx = ai.onnx.preview.training.Gradient<xs = ["x"], zs = ["u"], y = "loss">(x, u)
}} }})",
      type, list(pool.kernel), list(pool.strides), list(pool.dilations), list(pool.pads))));
}

template <typename T>
Tensor tensor(const Dims& spatial, int64_t images, const std::vector<double>& values) {
  Dims dims = {1, images};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return Tensor::of<T>(dims, std::vector<T>(values.begin(), values.end()));
}

template <typename T>
void expect_first(const PoolCase& pool, double share_of_nans, const char* type) {
  constexpr int64_t kImages = 5;
  std::mt19937 random(7);
  const Dims outputs = outputs_of(pool);
  const int64_t in = product(pool.size), out = product(outputs);
  std::vector<double> x(static_cast<size_t>(kImages * in)), u(static_cast<size_t>(kImages * out));
  for (double& each : x) {
    const bool is_nan = std::uniform_real_distribution<>()(random) < share_of_nans;
    each = is_nan ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(random() % 3);
  }
  for (size_t i = 0; i < u.size(); ++i) u[i] = static_cast<double>(i + 1);
  std::vector<double> dx(x.size(), 0);
  for (int64_t i = 0; i < kImages * out; ++i) {
    const int64_t image = i / out * in;
    const int64_t at = chosen(pool, x.data() + image, position(i % out, outputs));
    dx[static_cast<size_t>(image + at)] += u[static_cast<size_t>(i)];
  }
  const TensorMap inputs = {{"x", tensor<T>(pool.size, kImages, x)},
                            {"u", tensor<T>(outputs, kImages, u)}};
  const Tensor expected = tensor<T>(pool.size, kImages, dx);
  for (const auto& run :
       {interpreted(pool_step(pool, type), inputs), planned(pool_step(pool, type), inputs)}) {
    ASSERT_EQ(run.refusal, "");
    expect_close(run.outputs.at("dx"), expected, 0,
                 fmt::format("{} {} {}", type, list(pool.size), list(pool.kernel)));
  }
}

TEST(MaxPoolTies, GoToTheFirstOfTheLargestAndTheLastNaN) {
  for (const PoolCase& pool : kPools) {
    for (const double share_of_nans : {0.0, 0.2, 1.0}) {
      expect_first<float>(pool, share_of_nans, "float");
      expect_first<double>(pool, share_of_nans, "double");
    }
  }
}

}  // namespace
}  // namespace onward
