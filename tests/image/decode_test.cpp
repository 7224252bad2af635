// What files of each format hold. tests/python/image_decoder_test.py compares many more of them
// with Pillow; here are those that the sanitizers see too.

#include "image/decode.h"

#include <gtest/gtest.h>

#include "image/library.h"
#include "onward/error.h"
#include "tests/image/files.h"

namespace onward::image {
namespace {

TEST(Decode, GivesThePixelsOfFilesWithoutLoss) {
  std::vector<uint8_t> expected;
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (int c = 0; c < 3; ++c)
        expected.push_back(static_cast<uint8_t>(40 * x + 70 * y + 25 * c));
    }
  }
  for (const char* name : {"color.bmp", "color.jp2", "color.png", "color.ppm", "color.tiff",
                           "color.webp", "packed.tiff"}) {
    SCOPED_TRACE(name);
    const Image image = decode(bytes_of(read_file(name)), Channels::rgb);
    EXPECT_EQ(image.samples, expected);
  }
}

TEST(Decode, GivesEachFileTheShapeThatIsAskedFor) {
  for (const std::string& name : names_of_files()) {
    if (name.starts_with("animated")) continue;
    SCOPED_TRACE(name);
    const std::string file = read_file(name);
    for (const auto& [channels, count] : {std::pair(Channels::rgb, 3), std::pair(Channels::bgr, 3),
                                          std::pair(Channels::grayscale, 1)}) {
      const Image image = decode(bytes_of(file), channels);
      EXPECT_EQ(image.height, 3);
      EXPECT_EQ(image.width, 5);
      EXPECT_EQ(image.channels, count);
      EXPECT_EQ(image.samples.size(), static_cast<size_t>(15 * count));
    }
  }
}

TEST(Decode, OrdersAndWeighsColors) {
  const std::string file = "P3 3 1 255  255 0 0  0 255 0  0 0 254";
  using Samples = std::vector<uint8_t>;
  EXPECT_EQ(decode(bytes_of(file), Channels::rgb).samples,
            (Samples{255, 0, 0, 0, 255, 0, 0, 0, 254}));
  EXPECT_EQ(decode(bytes_of(file), Channels::bgr).samples,
            (Samples{0, 0, 255, 0, 255, 0, 254, 0, 0}));
  EXPECT_EQ(decode(bytes_of(file), Channels::grayscale).samples, (Samples{76, 150, 29}));
  const std::string gray = "P2 2 1 255  7 200";
  EXPECT_EQ(decode(bytes_of(gray), Channels::bgr).samples, (Samples{7, 7, 7, 200, 200, 200}));
  EXPECT_EQ(decode(bytes_of(gray), Channels::grayscale).samples, (Samples{7, 200}));
}

TEST(Decode, KnowsFormatsByTheirFirstBytes) {
  const std::pair<const char*, const char*> formats[] = {
      {"bits.pbm", "PNM"},       {"color.bmp", "BMP"},  {"color.jp2", "JPEG 2000"},
      {"gray.j2k", "JPEG 2000"}, {"color.jpg", "JPEG"}, {"color.png", "PNG"},
      {"color.tiff", "TIFF"},    {"color.webp", "WebP"}};
  for (const auto& [name, format] : formats)
    EXPECT_EQ(format_of(bytes_of(read_file(name))), format);
  for (const char* none : {"", "P", "P9 1 1", "Pa", "GIF89a", "RIFF....WAVE"}) {
    EXPECT_EQ(format_of(bytes_of(none)), "") << none;
  }
}

TEST(Decode, SaysWhatItRefuses) {
  EXPECT_EQ(
      message_of("GIF89a"),
      "6 bytes are no image: they are not in one of the formats BMP, JPEG, JPEG 2000, PNG, PNM, "
      "TIFF or WebP");
  EXPECT_EQ(
      message_of(read_file("animated.webp")),
      "cannot read this WebP image: it is animated; only still images are read: write its frames "
      "as images first");
  EXPECT_EQ(
      message_of("P7\nWIDTH 1"),
      "cannot read this PNM image: it is PAM (P7), of which only the older forms P1 to P6 are "
      "read");
  EXPECT_EQ(message_of("P5 2 1 100 \x01\x65"),
            "cannot read this PNM image: a sample is 101, but the largest is 100");
  EXPECT_EQ(message_of("P5 2 1 255 \x01"), "cannot read this PNM image: it ends too early");
  std::string damaged = read_file("color.png");
  damaged[damaged.size() - 13] ^= 1;  // the checksum before the last chunk
  EXPECT_EQ(message_of(damaged), "cannot read this PNG image: IDAT: CRC error");
}

TEST(Library, ThatIsMissingIsNamedWithItsPackage) {
  try {
    Library("libnowhere.so.7", "libnowhere7");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "that takes libnowhere.so.7, which is not installed: apt-get install libnowhere7, or "
        "save it as PNG");
  }
}

}  // namespace
}  // namespace onward::image
