// What is written as PNG is read back, sample by sample.

#include "image/encode.h"

#include <gtest/gtest.h>

namespace onward::image {
namespace {

TEST(EncodePng, KeepsAllSamples) {
  for (const int64_t channels : {1, 3}) {
    Image image{.height = 5, .width = 7, .channels = channels, .samples = {}};
    for (int64_t i = 0; i < 5 * 7 * channels; ++i) {
      image.samples.push_back(static_cast<uint8_t>(i * 37));
    }
    const std::string file = encode_png(image);
    const Image again = decode(std::as_bytes(std::span(file.data(), file.size())),
                               channels == 1 ? Channels::grayscale : Channels::rgb);
    EXPECT_EQ(again.height, 5);
    EXPECT_EQ(again.width, 7);
    EXPECT_EQ(again.samples, image.samples);
  }
}

}  // namespace
}  // namespace onward::image
