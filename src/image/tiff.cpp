// TIFF by libtiff, which comes with the machine or not at all. Its interface for any kind of image
// would also convert what it can only guess at; we let it convert what is plain.

#include "image/formats.h"
#include "onward/error.h"

#if ONWARD_HAS_LIBTIFF

#include <fmt/format.h>
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "image/library.h"
#include "ir/memory_limit.h"
#include "ir/utf8.h"

namespace onward::image {
namespace {

/// Of a strip or a tile, which may hold all of an image.
constexpr int64_t kMostBytes = int64_t{1} << 30;

struct LibTiff {
  decltype(TIFFClientOpenExt)* client_open;
  decltype(TIFFClose)* close;
  decltype(TIFFGetField)* get_field;
  decltype(TIFFGetFieldDefaulted)* get_field_defaulted;
  decltype(TIFFSetField)* set_field;
  decltype(TIFFOpenOptionsAlloc)* options_alloc;
  decltype(TIFFOpenOptionsFree)* options_free;
  decltype(TIFFOpenOptionsSetErrorHandlerExtR)* set_error_handler;
  decltype(TIFFOpenOptionsSetWarningHandlerExtR)* set_warning_handler;
  decltype(TIFFOpenOptionsSetMaxSingleMemAlloc)* set_most_bytes;
  decltype(TIFFRGBAImageBegin)* begin;
  decltype(TIFFRGBAImageGet)* get;
  decltype(TIFFRGBAImageEnd)* end;
};

const LibTiff& libtiff() {
  static const LibTiff functions = [] {
    const Library library("libtiff.so.6", "libtiff6");
    LibTiff f;
    library.find("TIFFClientOpenExt", f.client_open);
    library.find("TIFFClose", f.close);
    library.find("TIFFGetField", f.get_field);
    library.find("TIFFGetFieldDefaulted", f.get_field_defaulted);
    library.find("TIFFSetField", f.set_field);
    library.find("TIFFOpenOptionsAlloc", f.options_alloc);
    library.find("TIFFOpenOptionsFree", f.options_free);
    library.find("TIFFOpenOptionsSetErrorHandlerExtR", f.set_error_handler);
    library.find("TIFFOpenOptionsSetWarningHandlerExtR", f.set_warning_handler);
    library.find("TIFFOpenOptionsSetMaxSingleMemAlloc", f.set_most_bytes);
    library.find("TIFFRGBAImageBegin", f.begin);
    library.find("TIFFRGBAImageGet", f.get);
    library.find("TIFFRGBAImageEnd", f.end);
    return f;
  }();
  return functions;
}

/// What the library reads from, and its first complaint.
struct Source {
  Bytes file;
  uint64_t at = 0;
  std::array<char, 200> complaint{};

  [[noreturn]] void refuse() const {
    throw Error(complaint[0] == 0 ? "its data are damaged" : printable(complaint.data()));
  }
};

tmsize_t read(thandle_t handle, void* target, tmsize_t length) {
  auto& source = *static_cast<Source*>(handle);
  const uint64_t left = source.file.size() - std::min<uint64_t>(source.at, source.file.size());
  const uint64_t count = std::min(left, static_cast<uint64_t>(std::max<tmsize_t>(length, 0)));
  if (count > 0) std::memcpy(target, source.file.data() + source.at, count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}

tmsize_t write_nothing(thandle_t, void*, tmsize_t) { return 0; }

toff_t seek(thandle_t handle, toff_t offset, int from) {
  auto& source = *static_cast<Source*>(handle);
  const uint64_t start = from == SEEK_SET ? 0 : from == SEEK_CUR ? source.at : source.file.size();
  return source.at = start + offset;
}

int keep_open(thandle_t) { return 0; }

toff_t size(thandle_t handle) { return static_cast<Source*>(handle)->file.size(); }

[[gnu::format(printf, 4, 0)]] int hear_error(TIFF*, void* user, const char*, const char* format,
                                             va_list values) {
  auto& complaint = static_cast<Source*>(user)->complaint;
  if (complaint[0] == 0) std::vsnprintf(complaint.data(), complaint.size(), format, values);
  return 1;
}

int hear_warning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

using File = std::unique_ptr<TIFF, decltype(TIFFClose)*>;

File open(Source& source) {
  const LibTiff& lib = libtiff();
  const std::unique_ptr<TIFFOpenOptions, decltype(TIFFOpenOptionsFree)*> options(
      lib.options_alloc(), lib.options_free);
  lib.set_error_handler(options.get(), hear_error, &source);
  lib.set_warning_handler(options.get(), hear_warning, nullptr);
  lib.set_most_bytes(options.get(), std::min(kMostBytes, memory_limit()));
  File file(lib.client_open("image", "rm", &source, read, write_nothing, seek, keep_open, size,
                            nullptr, nullptr, options.get()),
            lib.close);
  if (!file) source.refuse();
  return file;
}

uint16_t number(TIFF* file, uint32_t tag) {
  uint16_t value = 0;
  libtiff().get_field_defaulted(file, tag, &value);
  return value;
}

/// What is converted in one way alone: unsigned samples of up to 8 bits.
void check_form(TIFF* file) {
  const uint16_t bits = number(file, TIFFTAG_BITSPERSAMPLE);
  const uint16_t format = number(file, TIFFTAG_SAMPLEFORMAT);
  const uint16_t channels = number(file, TIFFTAG_SAMPLESPERPIXEL);
  if (channels > 4) throw Error(fmt::format("it has {} channels; up to 4 are read", channels));
  if (bits > 8) throw Error(fmt::format("it has samples of {} bits; up to 8 are read", bits));
  if (format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID) {
    throw Error("its samples are no unsigned integers");
  }
  uint16_t meaning = 0;
  if (!libtiff().get_field(file, TIFFTAG_PHOTOMETRIC, &meaning)) {
    throw Error("it does not say what its samples mean");
  }
  constexpr uint16_t kRead[] = {PHOTOMETRIC_MINISWHITE, PHOTOMETRIC_MINISBLACK, PHOTOMETRIC_RGB,
                                PHOTOMETRIC_PALETTE, PHOTOMETRIC_YCBCR};
  if (std::ranges::count(kRead, meaning) == 0) {
    throw Error(fmt::format(
        "its samples are gray, colors or a palette's in no form that is read (photometric {})",
        meaning));
  }
}

/// Else the library would multiply colors by their transparency.
void take_transparency_for_applied(TIFF* file) {
  uint16_t count = 0;
  uint16_t* kinds = nullptr;
  if (!libtiff().get_field(file, TIFFTAG_EXTRASAMPLES, &count, &kinds) || count == 0) return;
  std::vector<uint16_t> applied(kinds, kinds + count);
  std::ranges::replace(applied, EXTRASAMPLE_UNASSALPHA, EXTRASAMPLE_ASSOCALPHA);
  libtiff().set_field(file, TIFFTAG_EXTRASAMPLES, count, applied.data());
}

/// Pixels as the library gives them, in the order of the file: no orientation is applied.
std::vector<uint32_t> raster_of(TIFF* file, const Source& source, int64_t width, int64_t height) {
  const LibTiff& lib = libtiff();
  TIFFRGBAImage conversion;
  char reason[1024] = "";
  constexpr int kStopAtErrors = 1;
  if (!lib.begin(&conversion, file, kStopAtErrors, reason)) throw Error(printable(reason));
  const std::unique_ptr<TIFFRGBAImage, decltype(TIFFRGBAImageEnd)*> ended(&conversion, lib.end);
  conversion.req_orientation = conversion.orientation;
  std::vector<uint32_t> raster(static_cast<size_t>(width * height));
  if (!lib.get(&conversion, raster.data(), static_cast<uint32_t>(width),
               static_cast<uint32_t>(height))) {
    source.refuse();
  }
  return raster;
}

}  // namespace

Image decode_tiff(Bytes bytes) {
  Source source{.file = bytes};
  const File file = open(source);
  uint32_t width = 0, height = 0;
  libtiff().get_field(file.get(), TIFFTAG_IMAGEWIDTH, &width);
  libtiff().get_field(file.get(), TIFFTAG_IMAGELENGTH, &height);
  check_size(width, height, 7);
  check_form(file.get());
  take_transparency_for_applied(file.get());
  const std::vector<uint32_t> raster = raster_of(file.get(), source, width, height);
  Image image = blank(width, height, 3);
  uint8_t* target = image.samples.data();
  for (const uint32_t pixel : raster) {
    *target++ = static_cast<uint8_t>(TIFFGetR(pixel));
    *target++ = static_cast<uint8_t>(TIFFGetG(pixel));
    *target++ = static_cast<uint8_t>(TIFFGetB(pixel));
  }
  return image;
}

}  // namespace onward::image

#else

namespace onward::image {

Image decode_tiff(Bytes) {
  throw Error(
      "this Onward was built without libtiff: save it as PNG, or build Onward where libtiff-dev is "
      "installed");
}

}  // namespace onward::image

#endif
