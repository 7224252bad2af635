// What batch normalization adds up: right where the mean is large against the deviation, and the
// same bits in any number of threads.

#include "runtime/kernels/channels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/parallel.h"

namespace onward {
namespace {

struct Tested {
  const char* name;
  std::vector<int64_t> dims;
  Layout layout;
};

class ChannelsTest : public testing::TestWithParam<Tested> {};

struct Computed {
  std::vector<float> mean, variance, sum, product;
  bool operator==(const Computed&) const = default;
};

std::vector<float> numbers(const std::vector<int64_t>& dims, double mean, unsigned seed) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(mean, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(normal(random));
  return values;
}

Computed compute(const Tested& tested, const std::vector<float>& x, const std::vector<float>& dy) {
  const Channels channels(tested.dims, tested.layout);
  const auto count = static_cast<size_t>(channels.count());
  std::vector<std::byte> scratch(channels.scratch_bytes(sizeof(float)));
  Computed made{std::vector<float>(count), std::vector<float>(count), std::vector<float>(count),
                std::vector<float>(count)};
  channels.statistics(x.data(), made.mean.data(), made.variance.data(), scratch.data());
  const std::vector<float> ones(count, 1);
  channels.products(dy.data(), x.data(), {made.mean.data(), ones.data(), ones.data()}, true,
                    made.sum.data(), made.product.data(), scratch.data());
  return made;
}

/// The elements of a channel.
std::vector<size_t> elements_of(const Tested& tested, int64_t channel) {
  const int64_t channels = tested.dims[1];
  int64_t places = 1;
  for (size_t d = 2; d < tested.dims.size(); ++d) places *= tested.dims[d];
  std::vector<size_t> found;
  for (int64_t image = 0; image < tested.dims[0]; ++image) {
    for (int64_t place = 0; place < places; ++place) {
      const int64_t at = tested.layout == Layout::plain
                             ? (image * channels + channel) * places + place
                             : (image * places + place) * channels + channel;
      found.push_back(static_cast<size_t>(at));
    }
  }
  return found;
}

TEST_P(ChannelsTest, AddUpWhereTheMeanIsLarge) {
  const auto x = numbers(GetParam().dims, 1000, 1), dy = numbers(GetParam().dims, 0, 2);
  const Computed made = compute(GetParam(), x, dy);
  for (int64_t channel = 0; channel < GetParam().dims[1]; ++channel) {
    const auto at = static_cast<size_t>(channel);
    const auto elements = elements_of(GetParam(), channel);
    const auto n = static_cast<double>(elements.size());
    double mean = 0, variance = 0, sum = 0, product = 0;
    for (const size_t i : elements) mean += static_cast<double>(x[i]) / n;
    for (const size_t i : elements) variance += std::pow(static_cast<double>(x[i]) - mean, 2) / n;
    for (const size_t i : elements) {
      if (x[i] - made.mean[at] + 1 <= 0) continue;  // what a Relu cuts off
      sum += static_cast<double>(dy[i]);
      product += static_cast<double>(dy[i]) * static_cast<double>(x[i] - made.mean[at]);
    }
    EXPECT_NEAR(static_cast<double>(made.mean[at]), mean, 1e-4);
    EXPECT_NEAR(static_cast<double>(made.variance[at]), variance, 1e-5 * variance);
    EXPECT_NEAR(static_cast<double>(made.sum[at]), sum, 1e-6 * n);
    EXPECT_NEAR(static_cast<double>(made.product[at]), product, 1e-6 * n);
  }
}

TEST_P(ChannelsTest, HaveTheMeanThatInfinitiesHave) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto first = elements_of(GetParam(), 0), second = elements_of(GetParam(), 1);
  auto x = numbers(GetParam().dims, 1, 5);
  x[first.front()] = x[first.back()] = -kInfinity;
  x[second.front()] = kInfinity;
  x[second.back()] = -kInfinity;
  const Computed made = compute(GetParam(), x, x);
  EXPECT_EQ(made.mean[0], -kInfinity);
  EXPECT_TRUE(std::isnan(made.mean[1]));
  EXPECT_TRUE(std::isnan(made.variance[0]) && std::isnan(made.variance[1]));
}

TEST_P(ChannelsTest, GiveTheSameBitsInAnyNumberOfThreads) {
  const auto x = numbers(GetParam().dims, 1, 3), dy = numbers(GetParam().dims, 0, 4);
  const auto with = [&](int count) {
    const Threads threads(count);
    return compute(GetParam(), x, dy);
  };
  EXPECT_EQ(with(3), with(1));
}

const Tested kTested[] = {
    {"planes", {8, 5, 33, 35}, Layout::plain},
    {"one_wide_plane", {1, 2, 100, 90}, Layout::plain},
    {"few_channels_last", {8, 3, 32, 32}, Layout::channels_last},
    {"odd_places", {3, 7, 11, 13}, Layout::channels_last},
    {"many_channels_last", {4, 300, 9, 9}, Layout::channels_last},
    {"vectors", {500, 70}, Layout::plain},
};

INSTANTIATE_TEST_SUITE_P(All, ChannelsTest, testing::ValuesIn(kTested),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace onward
