// JPEG by libjpeg-turbo with its defaults: the exact inverse transform, and the linear ("fancy")
// upsampling of colors that the standard's ImageDecoder asks for.

#include <cstdio>  // before jpeglib.h, which uses what is in it
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <algorithm>
#include <array>
#include <csetjmp>

#include "image/formats.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward::image {
namespace {

/// A progressive image of a few bytes can ask for its rows any number of times.
constexpr int kMostScans = 500;

/// The library's errors end in a jump, to the step that called it.
struct Handler {
  jpeg_error_mgr errors;
  std::jmp_buf before;
  std::array<char, JMSG_LENGTH_MAX> text;
};

Handler& handler_of(j_common_ptr info) { return *reinterpret_cast<Handler*>(info->err); }

[[noreturn]] void leave(j_common_ptr info) {
  Handler& handler = handler_of(info);
  info->err->format_message(info, handler.text.data());
  std::longjmp(handler.before, 1);
}

/// Warnings of data that are lost, for which the library would make up pixels. With the others
/// (bytes between segments, a version that it does not know) the image is whole.
bool loses_pixels(int warning) {
  constexpr int kLosses[] = {JWRN_ARITH_BAD_CODE, JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE,
                             JWRN_JPEG_EOF, JWRN_MUST_RESYNC};
  return std::ranges::count(kLosses, warning) > 0;
}

void hear_message(j_common_ptr info, int level) {
  if (level < 0 && loses_pixels(info->err->msg_code)) leave(info);
}

void watch_progress(j_common_ptr info) {
  const auto* reading = reinterpret_cast<j_decompress_ptr>(info);
  if (reading->input_scan_number <= kMostScans) return;
  Handler& handler = handler_of(info);
  std::snprintf(handler.text.data(), handler.text.size(), "it has more than %d scans", kMostScans);
  std::longjmp(handler.before, 1);
}

/// Inks of 0 for none and 255 for full, but inverted, as Adobe's programs and all others write
/// them.
void inverted_cmyk_to_rgb(const uint8_t* inks, uint8_t* rgb, int64_t pixels) {
  const auto product = [](uint32_t a, uint32_t b) {  // of two numbers whose 1 is 255, rounded
    const uint32_t wide = a * b + 128;
    return ((wide >> 8) + wide) >> 8;
  };
  for (int64_t i = 0; i < pixels; ++i) {
    const uint32_t light = inks[4 * i + 3];
    for (int64_t c = 0; c < 3; ++c) {
      const uint32_t ink = 255U - inks[4 * i + c];
      rgb[3 * i + c] = static_cast<uint8_t>(light - product(ink, light));
    }
  }
}

class Reader {
 public:
  Reader() {
    info_.err = jpeg_std_error(&handler_.errors);
    handler_.errors.error_exit = leave;
    handler_.errors.emit_message = hear_message;
    progress_.progress_monitor = watch_progress;
    run([&] { jpeg_create_decompress(&info_); });
    info_.progress = &progress_;
  }
  ~Reader() { jpeg_destroy_decompress(&info_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Image read(Bytes file) {
    run([&] {
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
      jpeg_read_header(&info_, TRUE);
    });
    const bool is_gray = info_.jpeg_color_space == JCS_GRAYSCALE;
    const bool has_inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = is_gray ? JCS_GRAYSCALE : has_inks ? JCS_CMYK : JCS_RGB;
    const int64_t width = info_.image_width;
    const int64_t height = info_.image_height, channels = is_gray ? 1 : 3;
    // Of several scans the library keeps all coefficients, of 2 bytes each.
    const int64_t kept = jpeg_has_multiple_scans(&info_) ? 2 * int64_t{info_.num_components} : 0;
    check_size(width, height, channels + kept);
    Image image = blank(width, height, channels);
    std::vector<uint8_t> inks(has_inks ? static_cast<size_t>(4 * width) : 0);
    run([&] {
      jpeg_start_decompress(&info_);
      while (info_.output_scanline < info_.output_height) {
        uint8_t* row = image.samples.data() + info_.output_scanline * width * image.channels;
        JSAMPROW target = has_inks ? inks.data() : row;
        jpeg_read_scanlines(&info_, &target, 1);
        if (has_inks) inverted_cmyk_to_rgb(inks.data(), row, width);
      }
      jpeg_finish_decompress(&info_);  // up to the end mark, so that a file without it is found
    });
    return image;
  }

 private:
  /// Nothing in a step may need a destructor: an error jumps out of it.
  template <typename Step>
  void run(const Step& step) {
    if (setjmp(handler_.before) != 0) throw Error(printable(handler_.text.data()));
    step();
  }

  Handler handler_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct info_{};
};

}  // namespace

Image decode_jpeg(Bytes file) { return Reader().read(file); }

}  // namespace onward::image
