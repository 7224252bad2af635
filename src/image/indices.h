#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace onward::image {

/// One number for each pixel, as a mask of classes has them: rows from the top, pixels from the
/// left.
struct IndexMap {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint16_t> values;
};

/// The numbers that stand in a PNG, BMP or PNM file: of a palette the indices, not the colors, of
/// gray the samples as they are, also of fewer or more than 8 bits. Throws Error where the file has
/// colors without a palette, or decode() would not read it.
IndexMap decode_indices(std::span<const std::byte> file);

/// The same as a PNG file of gray samples. Throws Error where a number is beyond 255.
std::string encoded_png(const IndexMap& map);

}  // namespace onward::image
