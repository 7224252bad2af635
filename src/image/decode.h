#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace onward::image {

/// What the numbers of a pixel are. Gray images have red, green and blue alike; the gray of a
/// color is its luma after ITU-R 601-2.
enum class Channels : uint8_t { rgb, bgr, grayscale };

/// Rows from the top, of pixels from the left, of channels.
struct Image {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;  // 3, or 1 of gray
  std::vector<uint8_t> samples;
};

/// Decodes a file in the format that its first bytes tell: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or
/// WebP. Throws Error where it is in none of them, damaged, cut off, or larger than memory. Of
/// several images in a file it is the first. Of 16 bits the upper 8 are taken, transparency is
/// dropped, and an orientation that the file notes (EXIF) is not applied.
Image decode(std::span<const std::byte> file, Channels channels);

/// "PNG" for the first bytes of such a file; empty where they are of no format that is decoded.
std::string_view format_of(std::span<const std::byte> file);

}  // namespace onward::image
