#include "image/indices.h"

#include <gtest/gtest.h>

#include "image/resize.h"
#include "onward/error.h"

namespace onward::image {
namespace {

std::string numbers_in(const std::string& file) {
  try {
    const IndexMap map = decode_indices(std::as_bytes(std::span(file)));
    std::string text = std::to_string(map.width) + "x" + std::to_string(map.height) + ":";
    for (const uint16_t value : map.values) text += " " + std::to_string(value);
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

// Forms that Pillow does not write; tests/train/segmentation_test.py has those that it does.
TEST(Indices, AreTheNumbersOfTheFile) {
  using namespace std::string_literals;
  const std::pair<std::string, const char*> rows[] = {
      {"P1 3 2 101\n010", "3x2: 1 0 1 0 1 0"},
      {"P4 10 1\n\xA0\x40"s, "10x1: 1 0 1 0 0 0 0 0 0 1"},
      {"P2 2 1 7\n3 7", "2x1: 3 7"},
      {"P5 2 1 7\n\3\7"s, "2x1: 3 7"},
      {"P5 2 1 65535\n\1\2\0\3"s, "2x1: 258 3"},
      {"P2 2 1 7\n3 8", "cannot read this PNM mask: a sample is 8, but the largest is 7"},
      {"P5 2 2 7\n\3"s, "cannot read this PNM mask: it ends too early"},
      {"P3 1 1 7\n3 3 3", "cannot read this PNM mask: its pixels have colors"},
      {"GIF89a", "masks are PNG, BMP or PNM files, this is none of them"},
  };
  for (const auto& [file, expected] : rows) {
    EXPECT_TRUE(numbers_in(file).starts_with(expected)) << numbers_in(file);
  }
}

TEST(Indices, TakeTheNearestPixel) {
  const IndexMap map{.height = 2, .width = 3, .values = {0, 1, 2, 3, 4, 5}};
  const auto resized = [&](Size size, const Crop& crop) {
    return resized_nearest(map, size, crop).values;
  };
  EXPECT_EQ(resized({2, 3}, {.top = 0, .left = 0, .size = {2, 3}}), map.values);
  EXPECT_EQ(resized({4, 6}, {.top = 1, .left = 1, .size = {2, 4}}),
            (std::vector<uint16_t>{0, 1, 1, 2, 3, 4, 4, 5}));
  EXPECT_EQ(resized({1, 1}, {.top = 0, .left = 0, .size = {1, 1}}), (std::vector<uint16_t>{4}));
  EXPECT_EQ(resized({1, 2}, {.top = 0, .left = 0, .size = {1, 2}}), (std::vector<uint16_t>{3, 5}));
}

}  // namespace
}  // namespace onward::image
