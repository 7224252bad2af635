#include "image/bmp_runs.h"

#include "onward/error.h"

namespace onward::image {
namespace {

/// What a count of 0 is followed by.
constexpr uint32_t kEndOfRow = 0, kEndOfImage = 1, kMove = 2;

class Canvas {
 public:
  Canvas(int64_t width, int64_t height)
      : width_(static_cast<uint64_t>(width)),
        height_(static_cast<uint64_t>(height)),
        indices_(width_ * height_) {}

  void put(uint32_t index) {
    if (x_ >= width_ || y_ >= height_) throw Error("a run goes beyond its row");
    indices_[y_ * width_ + x_++] = static_cast<uint8_t>(index);
  }
  void move(uint32_t right, uint32_t on) {
    x_ += right;
    y_ += on;
  }
  void next_row() {
    x_ = 0;
    ++y_;
  }
  bool is_full() const { return y_ >= height_; }
  std::vector<uint8_t> taken() { return std::move(indices_); }

 private:
  uint64_t width_;
  uint64_t height_;
  uint64_t x_ = 0;
  uint64_t y_ = 0;
  std::vector<uint8_t> indices_;
};

}  // namespace

std::vector<uint8_t> expand_runs(const LittleEndian& file, uint64_t at, int64_t width,
                                 int64_t height, uint32_t bits) {
  Canvas canvas(width, height);
  const auto half = [](uint32_t byte, uint32_t i) { return i % 2 == 0 ? byte >> 4 : byte & 15; };
  while (!canvas.is_full()) {
    const uint32_t count = file.u8(at), value = file.u8(at + 1);
    at += 2;
    if (count > 0) {
      for (uint32_t i = 0; i < count; ++i) canvas.put(bits == 8 ? value : half(value, i));
    } else if (value == kEndOfRow) {
      canvas.next_row();
    } else if (value == kEndOfImage) {
      break;
    } else if (value == kMove) {
      canvas.move(file.u8(at), file.u8(at + 1));
      at += 2;
    } else {  // so many pixels as they are, padded to 2 bytes
      for (uint32_t i = 0; i < value; ++i) {
        canvas.put(bits == 8 ? file.u8(at + i) : half(file.u8(at + i / 2), i));
      }
      const uint32_t bytes = bits == 8 ? value : (value + 1) / 2;
      at += bytes + bytes % 2;
    }
  }
  return canvas.taken();
}

}  // namespace onward::image
