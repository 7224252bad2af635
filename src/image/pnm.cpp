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

void read_bits(Scanner& in, bool is_text, Image& image) {
  uint32_t bits = 0;
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      if (!is_text && x % 8 == 0) bits = in.byte();
      const uint32_t bit = is_text ? in.digit() : bits >> (7 - x % 8) & 1;
      image.samples[static_cast<size_t>(y * image.width + x)] = bit ? 0 : 255;  // 1 is ink
    }
  }
}

void read_samples(Scanner& in, bool is_text, const Scale& scaled, Image& image) {
  for (uint8_t& sample : image.samples) {
    if (is_text) {
      sample = scaled(in.number());
    } else {
      uint32_t number = in.byte();
      if (scaled.width() == 2) number = number << 8 | in.byte();
      sample = scaled(number);
    }
  }
}

}  // namespace

Image decode_pnm(Bytes file) {
  Scanner in(file);
  in.byte();  // P
  const uint32_t kind = in.byte() - '0';
  if (kind > 6) throw Error("it is PAM (P7), of which only the older forms P1 to P6 are read");
  const bool is_text = kind <= 3, is_bits = kind % 3 == 1, has_colors = kind % 3 == 0;
  const int64_t width = in.number(), height = in.number();
  const Scale scaled(is_bits ? 1 : in.number());
  if (!is_text && !Scanner::is_space(static_cast<int>(in.byte()))) {
    throw Error("no space stands between its sizes and its pixels");
  }
  check_size(width, height, has_colors ? 3 : 1);
  // Before there is memory for as many pixels as the file says that it has.
  const int64_t channels = has_colors ? 3 : 1;
  const int64_t row = is_bits && !is_text ? (width + 7) / 8 : width * channels;
  const auto sample_bytes = static_cast<int64_t>(is_text || is_bits ? 1 : scaled.width());
  if (row * height * sample_bytes > static_cast<int64_t>(in.left())) refuse_cut_off();
  Image image = blank(width, height, channels);
  if (is_bits) {
    read_bits(in, is_text, image);
  } else {
    read_samples(in, is_text, scaled, image);
  }
  return image;
}

}  // namespace onward::image
