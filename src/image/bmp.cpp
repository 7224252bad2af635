// BMP: palettes of 1, 4 and 8 bits, also run-length encoded, and colors of 16, 24 and 32 bits
// under masks. Rows lie from the bottom up, unless the height is negative, and are padded to 4
// bytes.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "image/bmp_runs.h"
#include "image/bytes.h"
#include "onward/error.h"

namespace onward::image {
namespace {

enum class Compression : uint32_t { none = 0, runs_of_8 = 1, runs_of_4 = 2, masks = 3, alpha = 6 };

struct Header {
  int64_t width = 0;
  int64_t height = 0;
  bool from_the_top = false;
  uint32_t bits = 0;  // of a pixel
  Compression compression = Compression::none;
  uint64_t pixels_at = 0;
  uint64_t palette_at = 0;
  uint64_t palette_size = 0;
  uint64_t palette_step = 4;  // bytes from color to color
};

constexpr uint64_t kMasksAt = 54;

bool has_masks(const Header& header) {
  return header.compression == Compression::masks || header.compression == Compression::alpha;
}

bool has_palette(const Header& header) { return header.bits <= 8; }

bool is_read(const Header& header) {
  const uint32_t bits = header.bits;
  switch (header.compression) {
    case Compression::none:
      return bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
    case Compression::runs_of_8:
      return bits == 8;
    case Compression::runs_of_4:
      return bits == 4;
    case Compression::masks:
    case Compression::alpha:
      return bits == 16 || bits == 32;
  }
  return false;
}

/// The form of OS/2 1.x, with 16-bit sizes and no room between colors.
Header read_old_header(const LittleEndian& file) {
  Header header;
  header.width = file.u16(18);
  header.height = file.u16(20);
  header.bits = file.u16(24);
  header.palette_at = 26;
  header.palette_size = has_palette(header) ? uint64_t{1} << header.bits : 0;
  header.palette_step = 3;
  return header;
}

Header read_header(const LittleEndian& file) {
  const uint32_t size = file.u32(14);
  Header header;
  if (size == 12) {
    header = read_old_header(file);
  } else if (size == 40 || size == 52 || size == 56 || size == 64 || size == 108 || size == 124) {
    header.width = file.i32(18);
    header.height = file.i32(22);
    header.from_the_top = header.height < 0;
    if (header.from_the_top) header.height = -header.height;
    header.bits = file.u16(28);
    header.compression = static_cast<Compression>(file.u32(30));
    const bool masks_follow = size == 40 && has_masks(header);
    header.palette_at = 14 + size + (masks_follow ? 12 : 0);
    if (has_palette(header)) {
      const uint64_t all = uint64_t{1} << header.bits, used = file.u32(46);
      header.palette_size = used == 0 ? all : std::min(used, all);
    }
    if (size == 64 && has_masks(header)) {
      throw Error("the compressions of OS/2 2.x are not read");  // under the numbers of masks
    }
  } else {
    throw Error(fmt::format("it has a header of {} bytes, which is none that is known", size));
  }
  header.pixels_at = file.u32(10);
  if (!is_read(header)) {
    throw Error(fmt::format("{} bits a pixel with compression {} are not read", header.bits,
                            static_cast<uint32_t>(header.compression)));
  }
  return header;
}

using Color = std::array<uint8_t, 3>;

Color color_at(const LittleEndian& file, uint64_t at) {  // which are blue, green, red
  return {static_cast<uint8_t>(file.u8(at + 2)), static_cast<uint8_t>(file.u8(at + 1)),
          static_cast<uint8_t>(file.u8(at))};
}

std::vector<Color> read_palette(const LittleEndian& file, const Header& header) {
  std::vector<Color> colors;
  for (uint64_t i = 0; i < header.palette_size; ++i) {
    colors.push_back(color_at(file, header.palette_at + i * header.palette_step));
  }
  return colors;
}

Color color_of(const std::vector<Color>& palette, uint32_t index) {
  if (index < palette.size()) return palette[index];
  throw Error(fmt::format("a pixel has color {} of {}", index, palette.size()));
}

/// Some neighbouring bits of a pixel, as a number up to 255.
class Mask {
 public:
  explicit Mask(uint32_t bits) : bits_(bits), shift_(bits == 0 ? 0 : std::countr_zero(bits)) {
    largest_ = bits >> shift_;
    if (bits == 0 || (uint64_t{largest_} & (uint64_t{largest_} + 1)) != 0) {
      throw Error(fmt::format("{:#010x} is no mask of a color", bits));
    }
  }
  uint8_t of(uint32_t pixel) const {
    return static_cast<uint8_t>(uint64_t{(pixel & bits_) >> shift_} * 255 / largest_);
  }

 private:
  uint32_t bits_;
  int shift_;
  uint32_t largest_;
};

std::array<Mask, 3> read_masks(const LittleEndian& file, const Header& header) {
  if (has_masks(header)) {
    return {Mask(file.u32(kMasksAt)), Mask(file.u32(kMasksAt + 4)), Mask(file.u32(kMasksAt + 8))};
  }
  if (header.bits == 16) return {Mask(0x7C00), Mask(0x03E0), Mask(0x001F)};
  return {Mask(0xFF0000), Mask(0x00FF00), Mask(0x0000FF)};
}

class Pixels {
 public:
  Pixels(const LittleEndian& file, const Header& header)
      : file_(file),
        bits_(header.bits),
        palette_(read_palette(file, header)),
        masks_(read_masks(file, header)) {}

  /// Pixel x of the row that begins at a place of the file.
  Color color(uint64_t row_at, uint64_t x) const {
    if (bits_ <= 8) return color_of(palette_, index(row_at, x));
    if (bits_ == 24) return color_at(file_, row_at + 3 * x);
    const uint32_t pixel = bits_ == 16 ? file_.u16(row_at + 2 * x) : file_.u32(row_at + 4 * x);
    return {masks_[0].of(pixel), masks_[1].of(pixel), masks_[2].of(pixel)};
  }
  Color color(uint32_t index) const { return color_of(palette_, index); }
  /// The same where there is a palette.
  uint32_t index(uint64_t row_at, uint64_t x) const {
    const uint64_t bit = x * bits_;
    const uint32_t shift = 8 - bits_ - static_cast<uint32_t>(bit % 8);
    return file_.u8(row_at + bit / 8) >> shift & ((1U << bits_) - 1);
  }

 private:
  const LittleEndian& file_;
  uint32_t bits_;
  std::vector<Color> palette_;
  std::array<Mask, 3> masks_;
};

/// Where the pixels of a file are, which they were found to be.
class Rows {
 public:
  Rows(const LittleEndian& file, size_t size)
      : header_(read_header(file)),
        width_(static_cast<uint64_t>(header_.width)),
        height_(static_cast<uint64_t>(header_.height)),
        row_bytes_((width_ * header_.bits + 31) / 32 * 4) {
    check_size(header_.width, header_.height, 4);
    const bool has_runs = header_.compression == Compression::runs_of_8 ||
                          header_.compression == Compression::runs_of_4;
    const bool lies_inside =
        header_.pixels_at <= size && (has_runs || row_bytes_ * height_ <= size - header_.pixels_at);
    if (!lies_inside) refuse_cut_off();
    if (!has_runs) return;
    indices_ = expand_runs(file, header_.pixels_at, header_.width, header_.height, header_.bits);
  }

  const Header& header() const { return header_; }

  /// Calls visit(row, x) for all pixels from the top: `row` is where it begins in the file, or
  /// where its indices begin, if they were runs.
  template <typename Visit>
  void for_each_pixel(const Visit& visit) const {
    for (uint64_t y = 0; y < height_; ++y) {
      const uint64_t row = header_.from_the_top ? y : height_ - 1 - y;
      const uint64_t at = indices_ ? row * width_ : header_.pixels_at + row * row_bytes_;
      for (uint64_t x = 0; x < width_; ++x) visit(at, x);
    }
  }
  /// The indices that were runs.
  const std::optional<std::vector<uint8_t>>& indices() const { return indices_; }

 private:
  Header header_;
  uint64_t width_, height_, row_bytes_;
  std::optional<std::vector<uint8_t>> indices_;
};

}  // namespace

Image decode_bmp(Bytes bytes) {
  const LittleEndian file(bytes);
  const Rows rows(file, bytes.size());
  const Pixels pixels(file, rows.header());
  Image image = blank(rows.header().width, rows.header().height, 3);
  uint8_t* target = image.samples.data();
  rows.for_each_pixel([&](uint64_t row, uint64_t x) {
    const Color color =
        rows.indices() ? pixels.color((*rows.indices())[row + x]) : pixels.color(row, x);
    target = std::copy(color.begin(), color.end(), target);
  });
  return image;
}

IndexMap bmp_indices(Bytes bytes) {
  const LittleEndian file(bytes);
  const Rows rows(file, bytes.size());
  if (!has_palette(rows.header())) refuse_colors();
  const Pixels pixels(file, rows.header());
  IndexMap map{.height = rows.header().height, .width = rows.header().width, .values = {}};
  map.values.reserve(static_cast<size_t>(map.height * map.width));
  rows.for_each_pixel([&](uint64_t row, uint64_t x) {
    const uint32_t index = rows.indices() ? (*rows.indices())[row + x] : pixels.index(row, x);
    map.values.push_back(static_cast<uint16_t>(index));
  });
  return map;
}

}  // namespace onward::image
