// PNG by libpng: palettes and fewer bits are expanded, of 16 bits the upper 8 are taken, and what
// the file says of transparency and of its gamma is left aside.

#include <fmt/format.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "image/formats.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward::image {
namespace {

class Reader {
 public:
  explicit Reader(Bytes file) : file_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, ignore);
    info_ = png_ ? png_create_info_struct(png_) : nullptr;
    if (!info_) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw Error("libpng does not start");
    }
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Image image() {
    run([&] {
      png_set_read_fn(png_, this, read);
      png_read_info(png_, info_);
    });
    const bool has_colors = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0;
    Image image = blank(png_get_image_width(png_, info_), png_get_image_height(png_, info_),
                        has_colors ? 3 : 1);
    run([&] { ask_for_bytes(); });
    const auto row_bytes = static_cast<size_t>(image.width * image.channels);
    if (png_get_rowbytes(png_, info_) != row_bytes) throw Bug("libpng gives rows of another size");
    std::vector<png_bytep> rows(static_cast<size_t>(image.height));
    for (size_t y = 0; y < rows.size(); ++y) rows[y] = image.samples.data() + y * row_bytes;
    run([&] {
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    });
    return image;
  }

  IndexMap indices() {
    run([&] {
      png_set_read_fn(png_, this, read);
      png_read_info(png_, info_);
    });
    const auto type = png_get_color_type(png_, info_);
    if (type != PNG_COLOR_TYPE_PALETTE && (type & PNG_COLOR_MASK_COLOR) != 0) refuse_colors();
    const int64_t width = png_get_image_width(png_, info_);
    const int64_t height = png_get_image_height(png_, info_);
    check_size(width, height, 4);
    const bool is_wide = png_get_bit_depth(png_, info_) == 16;
    run([&] {
      png_set_packing(png_);  // a byte for each index of fewer bits, as it is
      png_set_strip_alpha(png_);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
    const auto row_bytes = static_cast<size_t>(width) * (is_wide ? 2 : 1);
    if (png_get_rowbytes(png_, info_) != row_bytes) throw Bug("libpng gives rows of another size");
    std::vector<uint8_t> bytes(row_bytes * static_cast<size_t>(height));
    std::vector<png_bytep> rows(static_cast<size_t>(height));
    for (size_t y = 0; y < rows.size(); ++y) rows[y] = bytes.data() + y * row_bytes;
    run([&] {
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    });
    IndexMap map{.height = height, .width = width, .values = {}};
    if (!is_wide) {
      map.values.assign(bytes.begin(), bytes.end());
      return map;
    }
    for (size_t i = 0; i < bytes.size(); i += 2) {
      map.values.push_back(static_cast<uint16_t>(bytes[i] << 8 | bytes[i + 1]));
    }
    return map;
  }

 private:
  /// Whatever the file has: one byte for each channel, and no transparency.
  void ask_for_bytes() {
    png_set_palette_to_rgb(png_);  // only where there is one, as those that follow
    png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  }

  static void leave(png_structp png, png_const_charp message) {
    auto& text = static_cast<Reader*>(png_get_error_ptr(png))->text_;
    std::snprintf(text.data(), text.size(), "%s", message);
    png_longjmp(png, 1);
  }
  static void ignore(png_structp, png_const_charp) {}

  static void read(png_structp png, png_bytep target, size_t length) {
    auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
    if (length > reader->file_.size() - reader->at_) png_error(png, "it ends too early");
    std::memcpy(target, reader->file_.data() + reader->at_, length);
    reader->at_ += length;
  }

  /// Nothing in a step may need a destructor: an error jumps out of it.
  template <typename Step>
  void run(const Step& step) {
    if (setjmp(png_jmpbuf(png_)) != 0) throw Error(printable(text_.data()));
    step();
  }

  Bytes file_;
  size_t at_ = 0;
  std::array<char, 128> text_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

Image decode_png(Bytes file) { return Reader(file).image(); }
std::string encoded_png(const IndexMap& map) {
  std::vector<uint8_t> samples;
  for (const uint16_t value : map.values) {
    if (value > 255) throw Error(fmt::format("a mask with {} is not written as PNG", value));
    samples.push_back(static_cast<uint8_t>(value));
  }
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(map.width);
  image.height = static_cast<png_uint_32>(map.height);
  image.format = PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  std::string file;
  bool is_done = png_image_write_to_memory(&image, nullptr, &size, 0, samples.data(), 0, nullptr);
  if (is_done) {
    file.resize(size);
    is_done = png_image_write_to_memory(&image, file.data(), &size, 0, samples.data(), 0, nullptr);
  }
  if (!is_done) throw Error(fmt::format("libpng cannot write it: {}", image.message));
  file.resize(size);
  return file;
}

IndexMap png_indices(Bytes file) { return Reader(file).indices(); }

}  // namespace onward::image
