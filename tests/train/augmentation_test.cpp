#include "train/augmentation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>
#include <thread>

#include "data/feeds.h"
#include "data/image_reader.h"
#include "onward/error.h"
#include "tests/temporary_folder.h"

namespace onward {
namespace {

/// The functions that ship.
std::string functions() {
  std::ifstream file("examples/augmentation/augment.onnxtxt");
  std::stringstream text;
  text << file.rdbuf();
  return text.str().substr(text.str().find("\n<domain:"));
}

constexpr int64_t kSide = 32;

/// An image whose samples are 4 times the column in the first channel, 4 times the row in the
/// second, and 100 in the third; its mask is the column.
AugmentedImage ramps() {
  std::vector<float> samples;
  for (int64_t i = 0; i < kSide * kSide; ++i) samples.push_back(static_cast<float>(i % kSide * 4));
  for (int64_t i = 0; i < kSide * kSide; ++i) samples.push_back(static_cast<float>(i / kSide * 4));
  samples.resize(static_cast<size_t>(3 * kSide * kSide), 100);
  std::vector<int64_t> mask;
  for (int64_t i = 0; i < kSide * kSide; ++i) mask.push_back(i % kSide);
  return {.image = Tensor::of<float>({1, 3, kSide, kSide}, samples),
          .mask = Tensor::of<int64_t>({1, 1, kSide, kSide}, mask)};
}

double at(const Tensor& image, int64_t channel, int64_t y, int64_t x) {
  return image.number((channel * kSide + y) * kSide + x);
}

std::vector<float> numbers_of(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

/// What is drawn for so many examples, measured at what became of the ramps.
template <typename Measure>
std::vector<double> drawn(const std::string& wanted, const Measure& measure, uint64_t examples) {
  Augmentation augmentation(wanted, functions());
  const Augment augment = augmentation.with_seed(7);
  std::vector<double> values;
  for (uint64_t i = 0; i < examples; ++i) {
    values.push_back(measure(augment(ramps(), {.epoch = i / 100, .example = i}).image));
  }
  std::ranges::sort(values);
  return values;
}

/// The largest distance between the values' distribution and the uniform one, which Kolmogorov and
/// Smirnov's test at 1 in 1000 wants below 1.95 over the root of their number.
void expect_uniform(const std::vector<double>& sorted, double low, double high) {
  const auto count = static_cast<double>(sorted.size());
  double distance = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const double wanted = (sorted[i] - low) / (high - low);
    distance = std::max({distance, std::abs(wanted - static_cast<double>(i) / count),
                         std::abs(wanted - static_cast<double>(i + 1) / count)});
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(count));
  EXPECT_GE(sorted.front(), low - 1e-3 * (high - low));
  EXPECT_LE(sorted.back(), high + 1e-3 * (high - low));
}

// Slopes of the ramps, in the middle of the image.
double slope(const Tensor& image, int64_t channel, int64_t dy, int64_t dx) {
  const int64_t middle = kSide / 2;
  return (at(image, channel, middle + dy, middle + dx) -
          at(image, channel, middle - dy, middle - dx)) /
         8;
}

TEST(Augmentation, DrawsFromTheDistributionsThatItNames) {
  constexpr uint64_t kExamples = 500;
  for (const char* flip : {"flip", "flip:vertical"}) {
    const bool vertical = std::string(flip) != "flip";
    const auto flipped = drawn(
        flip,
        [&](const Tensor& image) { return at(image, vertical ? 1 : 0, 0, 0) > 0 ? 1.0 : 0.0; },
        kExamples);
    const auto count = static_cast<double>(std::ranges::count(flipped, 1.0));
    EXPECT_NEAR(count, kExamples / 2.0, 3.3 * std::sqrt(kExamples) / 2) << flip;
  }
  const auto width = [](const Tensor& image) { return slope(image, 0, 0, 1); };
  const auto height = [](const Tensor& image) { return slope(image, 1, 1, 0); };
  expect_uniform(drawn(
                     "crop:0.2-0.6",
                     [&](const Tensor& image) { return width(image) * height(image); }, kExamples),
                 0.2, 0.6);
  expect_uniform(
      drawn(
          "crop:0.2-0.6",
          [&](const Tensor& image) { return std::log(width(image) / height(image)); }, kExamples),
      -std::log(4.0 / 3), std::log(4.0 / 3));
  // Where the crop is, between the one border and the other.
  const auto place = [&](const Tensor& image) {
    const double part = width(image);
    const double left =
        at(image, 0, 16, 16) / 4 - 15.5 - 0.5 * part;  // of the middle, less the crop's
    return (left / kSide + 0.5 - part / 2) / (1 - part);
  };
  expect_uniform(drawn("crop:0.2-0.6", place, kExamples), 0, 1);
  expect_uniform(drawn(
                     "rotate:20",
                     [&](const Tensor& image) {
                       return std::asin(slope(image, 1, 0, 1)) * 180 / std::numbers::pi;
                     },
                     kExamples),
                 -20, 20);
  expect_uniform(drawn(
                     "jitter:0.5/0/0", [](const Tensor& image) { return at(image, 2, 0, 0) / 100; },
                     kExamples),
                 0.5, 1.5);
  // Whole pixels, each as likely: the deviation of a count of 500 in 9 is 6.7.
  const auto moved =
      drawn("crop:4", [](const Tensor& image) { return at(image, 1, 16, 16) / 4 - 16; }, kExamples);
  for (int shift = -4; shift <= 4; ++shift) {
    EXPECT_NEAR(static_cast<double>(std::ranges::count(moved, shift)), kExamples / 9.0, 24)
        << shift;
  }
}

TEST(Augmentation, MovesMasksWithTheirImages) {
  Augmentation augmentation("flip:both,crop:3,crop:0.5-1,rotate:15", functions());
  const Augment augment = augmentation.with_seed(1);
  for (uint64_t example = 0; example < 20; ++example) {
    const AugmentedImage changed = augment(ramps(), {.epoch = 3, .example = example});
    for (int64_t y = 0; y < kSide; ++y) {
      for (int64_t x = 0; x < kSide; ++x) {
        // Each of two stages rounds to the nearest.
        EXPECT_NEAR(changed.mask.number(y * kSide + x), at(changed.image, 0, y, x) / 4, 1.2);
      }
    }
  }
}

TEST(Augmentation, DependsOnSeedEpochAndExampleAlone) {
  const std::string wanted = "flip,crop:0.3-1,crop:2,jitter:0.3,rotate:30";
  Augmentation one(wanted, functions()), other(wanted, functions());
  const Augment augment = one.with_seed(5), same = other.with_seed(5), different = one.with_seed(6);
  const AugmentKey key{.epoch = 2, .example = 9};
  const auto first = numbers_of(augment(ramps(), key).image);
  EXPECT_EQ(numbers_of(augment(ramps(), key).image), first);
  EXPECT_EQ(numbers_of(same(ramps(), key).image), first);
  AugmentedImage bare = ramps();
  bare.mask = {};
  EXPECT_EQ(numbers_of(augment(bare, key).image), first);
  EXPECT_NE(numbers_of(different(ramps(), key).image), first);
  EXPECT_NE(numbers_of(augment(ramps(), {.epoch = 3, .example = 9}).image), first);
  EXPECT_NE(numbers_of(augment(ramps(), {.epoch = 2, .example = 8}).image), first);
  // The two crops of a list draw each their own.
  Augmentation twice("flip,flip", functions());
  const Augment both = twice.with_seed(5);
  int unlike = 0;
  for (uint64_t i = 0; i < 40; ++i) {
    unlike +=
        numbers_of(both(ramps(), {.epoch = 0, .example = i}).image) != numbers_of(ramps().image);
  }
  EXPECT_GT(unlike, 8);
  EXPECT_LT(unlike, 32);
}

TEST(Augmentation, IsTheSameInWhateverBatchAndThread) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "a");
  for (int i = 0; i < 12; ++i) {
    std::string samples;
    for (int pixel = 0; pixel < 64; ++pixel) samples += static_cast<char>(pixel * 3 + i);
    std::ofstream(folder.path() / "a" / (std::to_string(100 + i) + ".pgm"), std::ios::binary)
        << "P5 8 8 255\n"
        << samples;
  }
  const InputSlot slot{.name = "image",
                       .type = Type::tensor(DType::f32, std::vector<int64_t>{1, 1, 8, 8})};
  InputSlot open = slot;
  open.type.shape->front() = Dim{};
  Augmentation augmentation("flip,crop:0.5-1,rotate:10", functions());
  const auto batch_of = [&](std::vector<int64_t> rows, uint64_t epoch, int threads) {
    Feeds feeds(open_dataset(folder.path().string()), {open});
    EXPECT_FALSE(feeds.varies());
    feeds.augment(augmentation.with_seed(3));
    EXPECT_TRUE(feeds.varies());
    feeds.expect(rows, {.examples = 8, .threads = threads, .epoch = epoch});
    return numbers_of(feeds.batch(rows).at("image"));
  };
  const auto all = batch_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 4, 1);
  EXPECT_EQ(batch_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 4, 3), all);
  const auto two = batch_of({7, 2}, 4, 2);
  EXPECT_TRUE(std::equal(two.begin(), two.begin() + 64, all.begin() + 7 * 64));
  EXPECT_TRUE(std::equal(two.begin() + 64, two.end(), all.begin() + 2 * 64));
  EXPECT_NE(batch_of({7, 2}, 5, 2), two);
}

}  // namespace
}  // namespace onward
