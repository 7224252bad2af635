// PNM: black and white (P1, P4), gray (P2, P5) and colors (P3, P6), as digits or as bytes. A file
// that holds several images gives the first.

#include <fmt/format.h>

#include <cmath>

#include "image/formats.h"
#include "onward/error.h"

namespace onward::image {
namespace {

class Scanner {
 public:
  explicit Scanner(Bytes file) : file_(file) {}

  /// The next byte, or -1 behind the last.
  int peek() const { return at_ < file_.size() ? std::to_integer<int>(file_[at_]) : -1; }
  uint32_t byte() {
    if (at_ >= file_.size()) refuse_cut_off();
    return std::to_integer<uint32_t>(file_[at_++]);
  }
  size_t left() const { return file_.size() - at_; }

  static bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  void skip_spaces_and_comments() {
    while (is_space(peek()) || peek() == '#') {
      if (byte() != '#') continue;
      while (peek() != '\n' && peek() != '\r' && peek() != -1) byte();
    }
  }

  int64_t number() {
    constexpr int64_t kLargest = 1'000'000'000;
    skip_spaces_and_comments();
    if (peek() == -1) refuse_cut_off();
    if (!is_digit(peek())) throw Error("it has something else where a number should stand");
    int64_t number = 0;
    while (is_digit(peek())) {
      number = 10 * number + byte() - '0';
      if (number > kLargest) throw Error("it has a number that is too large");
    }
    return number;
  }

  /// Digits of black and white may touch.
  uint32_t digit() {
    skip_spaces_and_comments();
    const uint32_t digit = byte();
    if (digit != '0' && digit != '1') throw Error("a pixel of black and white is neither 0 nor 1");
    return digit - '0';
  }

 private:
  static bool is_digit(int c) { return c >= '0' && c <= '9'; }

  Bytes file_;
  size_t at_ = 0;
};

/// Samples up to `largest` as numbers up to 255, rounded.
class Scale {
 public:
  explicit Scale(int64_t largest) : largest_(largest) {
    if (largest < 1 || largest > 65535) {
      throw Error(fmt::format("its largest sample is {}, not from 1 to 65535", largest));
    }
  }
  uint8_t operator()(int64_t sample) const {
    if (sample > largest_) {
      throw Error(fmt::format("a sample is {}, but the largest is {}", sample, largest_));
    }
    const double part = static_cast<double>(sample) / static_cast<double>(largest_);
    return static_cast<uint8_t>(std::nearbyint(part * 255));
  }
  /// Bytes of a sample in a file that is no text.
  size_t width() const { return largest_ < 256 ? 1 : 2; }

 private:
  int64_t largest_;
};

struct PnmHeader {
  bool is_text, is_bits, has_colors;
  int64_t width, height;
  Scale scaled;
};

PnmHeader read_pnm_header(Scanner& in) {
  in.byte();  // P
  const uint32_t kind = in.byte() - '0';
  if (kind > 6) throw Error("it is PAM (P7), of which only the older forms P1 to P6 are read");
  const bool is_text = kind <= 3, is_bits = kind % 3 == 1, has_colors = kind % 3 == 0;
  const int64_t width = in.number(), height = in.number();
  const Scale scaled(is_bits ? 1 : in.number());
  if (!is_text && !Scanner::is_space(static_cast<int>(in.byte()))) {
    throw Error("no space stands between its sizes and its pixels");
  }
  check_size(width, height, has_colors ? 3 : 2);
  // Before there is memory for as many pixels as the file says that it has.
  const int64_t row = is_bits && !is_text ? (width + 7) / 8 : width * (has_colors ? 3 : 1);
  const auto sample_bytes = static_cast<int64_t>(is_text || is_bits ? 1 : scaled.width());
  if (row * height * sample_bytes > static_cast<int64_t>(in.left())) refuse_cut_off();
  return {.is_text = is_text,
          .is_bits = is_bits,
          .has_colors = has_colors,
          .width = width,
          .height = height,
          .scaled = scaled};
}

/// Calls take(number) for all samples as they stand in the file.
template <typename Take>
void for_each_sample(Scanner& in, const PnmHeader& header, const Take& take) {
  const int64_t row = header.width * (header.has_colors ? 3 : 1);
  for (int64_t y = 0; y < header.height; ++y) {
    uint32_t bits = 0;
    for (int64_t x = 0; x < row; ++x) {
      if (header.is_bits) {
        if (!header.is_text && x % 8 == 0) bits = in.byte();
        take(header.is_text ? in.digit() : bits >> (7 - x % 8) & 1);
      } else if (header.is_text) {
        take(in.number());
      } else {
        uint32_t number = in.byte();
        if (header.scaled.width() == 2) number = number << 8 | in.byte();
        take(number);
      }
    }
  }
}

}  // namespace

Image decode_pnm(Bytes file) {
  Scanner in(file);
  const PnmHeader header = read_pnm_header(in);
  Image image = blank(header.width, header.height, header.has_colors ? 3 : 1);
  uint8_t* target = image.samples.data();
  for_each_sample(in, header, [&](int64_t sample) {
    const uint8_t scaled = header.scaled(sample);
    *target++ = static_cast<uint8_t>(header.is_bits ? 255 - scaled : scaled);  // a bit of 1 is ink
  });
  return image;
}

IndexMap pnm_indices(Bytes file) {
  Scanner in(file);
  const PnmHeader header = read_pnm_header(in);
  if (header.has_colors) refuse_colors();
  IndexMap map{.height = header.height, .width = header.width, .values = {}};
  map.values.reserve(static_cast<size_t>(map.height * map.width));
  for_each_sample(in, header, [&](int64_t sample) {
    header.scaled(sample);  // refuses what is larger than the largest
    map.values.push_back(static_cast<uint16_t>(sample));
  });
  return map;
}

}  // namespace onward::image
