// Files that are cut off, damaged, or ask for more than there is: each is refused, or is an image.

#include <gtest/gtest.h>

#include "image/decode.h"
#include "ir/memory_limit.h"
#include "onward/error.h"
#include "tests/image/files.h"

namespace onward::image {
namespace {

/// Puts the limit back.
class MemoryLimit {
 public:
  explicit MemoryLimit(int64_t bytes) : before_(memory_limit()) { set_memory_limit(bytes); }
  ~MemoryLimit() { set_memory_limit(before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  int64_t before_;
};

/// The text with `bytes` written over what stands at a place.
std::string patched(std::string file, size_t at, std::string_view bytes) {
  return file.replace(at, bytes.size(), bytes);
}

TEST(Hostile, FilesThatAreCutOffAreRefused) {
  for (const std::string& name : names_of_files()) {
    const std::string file = read_file(name);
    // What libtiff does not read: a checksum behind the last tile.
    const size_t unread = name == "tiled.tiff" ? 4 : 0;
    for (size_t length = 0; length < file.size() - unread; ++length) {
      EXPECT_NE(message_of(file.substr(0, length)), "") << name << " of " << length << " bytes";
    }
  }
}

TEST(Hostile, AnyByteMayBeWrong) {
  const MemoryLimit limit(int64_t{64} << 20);
  for (const std::string& name : names_of_files()) {
    SCOPED_TRACE(name);
    const std::string file = read_file(name);
    for (size_t at = 0; at < file.size(); ++at) {
      for (const int wrong : {0, 1, 0x7F, 0x80, 0xFF, file[at] ^ 1, file[at] ^ 0x80}) {
        try {
          const Image image = decode(
              bytes_of(patched(file, at, std::string(1, static_cast<char>(wrong)))), Channels::rgb);
          EXPECT_EQ(image.samples.size(), static_cast<size_t>(3 * image.width * image.height));
        } catch (const Error& error) {
          EXPECT_STRNE(error.what(), "");
        }
      }
    }
  }
}

TEST(Hostile, SizesAreCheckedBeforeThereIsMemoryForThem) {
  using namespace std::string_literals;
  const std::string all = "65500 x 65500 pixels, more than the 178956970 that are read";
  // Behind the marker of a frame: its length, 8 bits, height, width.
  const std::string jpeg = read_file("color.jpg");
  EXPECT_NE(message_of(patched(jpeg, jpeg.find("\xFF\xC0") + 5, "\xFF\xDC\xFF\xDC")).find(all),
            std::string::npos);
  const std::string bmp = read_file("color.bmp");
  EXPECT_NE(message_of(patched(bmp, 18, "\xDC\xFF\0\0\xDC\xFF\0\0"s)).find(all), std::string::npos);
  EXPECT_EQ(message_of(patched(bmp, 18, "\0\x04\0\0\0\x04\0\0"s)),
            "cannot read this BMP image: it ends too early");
  EXPECT_NE(message_of("P6 65500 65500 255 ").find(all), std::string::npos);
  EXPECT_EQ(message_of("P6 1000000000000 1 255 "),
            "cannot read this PNM image: it has a number that is too large");
  EXPECT_EQ(message_of("P6 1000 1000 255 "), "cannot read this PNM image: it ends too early");
  EXPECT_EQ(message_of("P5 0 7 255 "), "cannot read this PNM image: it has 0 x 7 pixels");
  // Behind two markers and eight bytes: width, height, where both start, the same of tiles;
  // channels.
  const std::string codestream = read_file("gray.j2k");
  EXPECT_NE(message_of(patched(codestream, 8, "\0\0\xFF\xDC\0\0\xFF\xDC"s)).find(all),
            std::string::npos);
  const std::string tiled = patched(codestream, 8, "\0\0\xFF\xFF\0\0\0\1"s);
  EXPECT_EQ(message_of(patched(tiled, 24, "\0\0\0\1"s)),
            "cannot read this JPEG 2000 image: it has 65535 x 1 tiles, more than the 16384 that "
            "are read");
  EXPECT_EQ(message_of(patched(codestream, 40, "\x3F\xFF")),
            "cannot read this JPEG 2000 image: it has 16383 channels");
  const MemoryLimit limit(40);
  EXPECT_EQ(message_of(read_file("color.png")),
            "cannot read this PNG image: an image of 5 x 3 pixels would take 0.0 GB, more than the "
            "0.0 GB of memory that there are");
}

TEST(Hostile, PalettesOfJpeg2000AreRefused) {
  using namespace std::string_literals;
  std::string file = read_file("color.jp2");
  const size_t header = file.find("jp2h") - 4;
  file[header + 3] += 12;
  file.insert(header + 8, "\0\0\0\x0Cpclr\0\x01\xFF\x07"s);
  EXPECT_EQ(message_of(file), "cannot read this JPEG 2000 image: it has a palette: save it as RGB");
}

TEST(Hostile, ProgressiveImagesHaveAFewScans) {
  std::string file = read_file("progressive.jpg");
  const size_t first = file.find("\xFF\xDA");
  size_t end = first + 2;
  while (file[end] != '\xFF' || file[end + 1] == 0) ++end;  // 0xFF and 0 are data, else a marker
  const std::string scan = file.substr(first, end - first);
  for (int i = 0; i < 600; ++i) file.insert(first, scan);
  EXPECT_EQ(message_of(file), "cannot read this JPEG image: it has more than 500 scans");
}

}  // namespace
}  // namespace onward::image
