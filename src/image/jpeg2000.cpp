// JPEG 2000 by OpenJPEG, which comes with the machine or not at all.

#include "image/formats.h"
#include "onward/error.h"

#if ONWARD_HAS_OPENJPEG

#include <fmt/format.h>
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "image/library.h"
#include "ir/utf8.h"

namespace onward::image {
namespace {

struct OpenJpeg {
  decltype(opj_create_decompress)* create_decompress;
  decltype(opj_destroy_codec)* destroy_codec;
  decltype(opj_set_default_decoder_parameters)* set_default_parameters;
  decltype(opj_setup_decoder)* setup;
  decltype(opj_set_error_handler)* set_error_handler;
  decltype(opj_stream_create)* stream_create;
  decltype(opj_stream_destroy)* stream_destroy;
  decltype(opj_stream_set_read_function)* set_read;
  decltype(opj_stream_set_skip_function)* set_skip;
  decltype(opj_stream_set_seek_function)* set_seek;
  decltype(opj_stream_set_user_data)* set_user_data;
  decltype(opj_stream_set_user_data_length)* set_length;
  decltype(opj_read_header)* read_header;
  decltype(opj_decode)* decode;
  decltype(opj_end_decompress)* end_decompress;
  decltype(opj_image_destroy)* image_destroy;
};

const OpenJpeg& openjpeg() {
  static const OpenJpeg functions = [] {
    const Library library("libopenjp2.so.7", "libopenjp2-7");
    OpenJpeg f;
    library.find("opj_create_decompress", f.create_decompress);
    library.find("opj_destroy_codec", f.destroy_codec);
    library.find("opj_set_default_decoder_parameters", f.set_default_parameters);
    library.find("opj_setup_decoder", f.setup);
    library.find("opj_set_error_handler", f.set_error_handler);
    library.find("opj_stream_create", f.stream_create);
    library.find("opj_stream_destroy", f.stream_destroy);
    library.find("opj_stream_set_read_function", f.set_read);
    library.find("opj_stream_set_skip_function", f.set_skip);
    library.find("opj_stream_set_seek_function", f.set_seek);
    library.find("opj_stream_set_user_data", f.set_user_data);
    library.find("opj_stream_set_user_data_length", f.set_length);
    library.find("opj_read_header", f.read_header);
    library.find("opj_decode", f.decode);
    library.find("opj_end_decompress", f.end_decompress);
    library.find("opj_image_destroy", f.image_destroy);
    return f;
  }();
  return functions;
}

/// What the library reads from, and its first complaint.
struct Source {
  Bytes file;
  size_t at = 0;
  std::string complaint;

  [[noreturn]] void refuse() const {
    throw Error(complaint.empty() ? "its data are damaged" : printable(complaint));
  }
};

OPJ_SIZE_T read(void* target, OPJ_SIZE_T length, void* user) {
  auto& source = *static_cast<Source*>(user);
  const size_t count = std::min<size_t>(length, source.file.size() - source.at);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(target, source.file.data() + source.at, count);
  source.at += count;
  return count;
}

OPJ_OFF_T skip(OPJ_OFF_T length, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (length < 0) return -1;
  const size_t left = source.file.size() - source.at;
  const size_t count = std::min(left, static_cast<size_t>(length));
  source.at += count;
  return static_cast<OPJ_OFF_T>(count);
}

OPJ_BOOL seek(OPJ_OFF_T place, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (place < 0 || static_cast<size_t>(place) > source.file.size()) return OPJ_FALSE;
  source.at = static_cast<size_t>(place);
  return OPJ_TRUE;
}

void hear_error(const char* message, void* user) {
  std::string& complaint = static_cast<Source*>(user)->complaint;
  if (!complaint.empty()) return;
  complaint = message;
  while (complaint.ends_with('\n') || complaint.ends_with('.')) complaint.pop_back();
}

using Stream = std::unique_ptr<opj_stream_t, decltype(opj_stream_destroy)*>;
using Codec = std::unique_ptr<opj_codec_t, decltype(opj_destroy_codec)*>;
using Decoded = std::unique_ptr<opj_image_t, decltype(opj_image_destroy)*>;

Stream open(Source& source) {
  const OpenJpeg& lib = openjpeg();
  constexpr OPJ_SIZE_T kBuffer = 1 << 16;
  Stream stream(lib.stream_create(kBuffer, OPJ_TRUE), lib.stream_destroy);
  if (!stream) throw Error("OpenJPEG does not start");
  lib.set_read(stream.get(), read);
  lib.set_skip(stream.get(), skip);
  lib.set_seek(stream.get(), seek);
  lib.set_user_data(stream.get(), &source, nullptr);
  lib.set_length(stream.get(), source.file.size());
  return stream;
}

Codec make_codec(Source& source) {
  const OpenJpeg& lib = openjpeg();
  const bool is_bare = !source.file.empty() && source.file[0] == std::byte{0xFF};
  Codec codec(lib.create_decompress(is_bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), lib.destroy_codec);
  opj_dparameters_t parameters;
  lib.set_default_parameters(&parameters);
  if (!codec || !lib.set_error_handler(codec.get(), hear_error, &source) ||
      !lib.setup(codec.get(), &parameters)) {
    throw Error("OpenJPEG does not start");
  }
  return codec;
}

uint64_t big_endian(Bytes file, uint64_t at, uint64_t width) {
  if (at > file.size() || width > file.size() - at) refuse_cut_off();
  uint64_t number = 0;
  for (uint64_t i = 0; i < width; ++i) {
    number = number << 8 | std::to_integer<uint64_t>(file[at + i]);
  }
  return number;
}

constexpr uint64_t kCodestream = 0x6A703263, kHeader = 0x6A703268, kPalette = 0x70636C72;

/// Calls `visit(type, content)` for each box, up to the codestream, which is the last that matters.
template <typename Visit>
void for_each_box(Bytes boxes, const Visit& visit) {
  uint64_t at = 0;
  while (at < boxes.size()) {
    const uint64_t short_length = big_endian(boxes, at, 4), type = big_endian(boxes, at + 4, 4);
    const bool is_long = short_length == 1;
    const uint64_t head = is_long ? 16 : 8;
    if (type == kCodestream) {
      visit(type, boxes.subspan(std::min<uint64_t>(at + head, boxes.size())));
      return;
    }
    const uint64_t length = is_long ? big_endian(boxes, at + 8, 8) : short_length;
    if (length < head || length > boxes.size() - at) refuse_cut_off();
    visit(type, boxes.subspan(at + head, length - head));
    at += length;
  }
}

/// All of a file without boxes. A palette could have any number of channels for each pixel.
Bytes codestream_of(Bytes file) {
  if (file[0] == std::byte{0xFF}) return file;
  Bytes codestream;
  for_each_box(file, [&](uint64_t type, Bytes content) {
    if (type == kCodestream) codestream = content;
    if (type != kHeader) return;
    for_each_box(content, [](uint64_t inner, Bytes) {
      if (inner == kPalette) throw Error("it has a palette: save it as RGB");
    });
  });
  return codestream;
}

/// The library makes room for each channel of each tile while it reads the header, so that the
/// first numbers of a codestream are looked at before it does.
void check_header(Bytes stream) {
  constexpr uint64_t kMostTiles = 16384;
  if (big_endian(stream, 0, 4) != 0xFF4FFF51) throw Error("it does not begin with its sizes");
  const auto number = [&](uint64_t i) { return big_endian(stream, 8 + 4 * i, 4); };
  struct Axis {
    uint64_t end, start, tile, tile_start;
    bool is_right() const { return start < end && tile > 0 && tile_start <= start; }
    uint64_t tiles() const { return (end - tile_start + tile - 1) / tile; }
  };
  const Axis x{number(0), number(2), number(4), number(6)};
  const Axis y{number(1), number(3), number(5), number(7)};
  if (!x.is_right() || !y.is_right()) throw Error("its sizes contradict each other");
  const uint64_t channels = big_endian(stream, 40, 2);
  if (channels < 1 || channels > 4) throw Error(fmt::format("it has {} channels", channels));
  // A number of 32 bits for each sample, and as much while they are transformed.
  check_size(static_cast<int64_t>(x.end - x.start), static_cast<int64_t>(y.end - y.start),
             8 * static_cast<int64_t>(channels) + 3);
  if (y.tiles() > kMostTiles / x.tiles()) {
    throw Error(fmt::format("it has {} x {} tiles, more than the {} that are read", x.tiles(),
                            y.tiles(), kMostTiles));
  }
}

/// Gray or colors with or without transparency, all of one size.
void check_form(const opj_image_t& image) {
  constexpr OPJ_COLOR_SPACE kRead[] = {OPJ_CLRSPC_UNKNOWN, OPJ_CLRSPC_UNSPECIFIED, OPJ_CLRSPC_SRGB,
                                       OPJ_CLRSPC_GRAY};
  if (std::ranges::count(kRead, image.color_space) == 0 || image.numcomps < 1 ||
      image.numcomps > 4) {
    throw Error(fmt::format("it has {} channels of a kind that is not read: save it as RGB",
                            image.numcomps));
  }
  const opj_image_comp_t& first = image.comps[0];
  for (const opj_image_comp_t& each : std::span(image.comps, image.numcomps)) {
    if (each.dx != first.dx || each.dy != first.dy || each.w != first.w || each.h != first.h) {
      throw Error("its channels differ in size: save it without subsampling");
    }
    if (each.prec < 8 || each.prec > 16) {
      throw Error(fmt::format("it has samples of {} bits; 8 to 16 are read", each.prec));
    }
  }
}

/// A sample as an unsigned one of 8 bits, rounded.
uint8_t byte_of(const opj_image_comp_t& channel, int64_t sample) {
  const int64_t dropped = int64_t{channel.prec} - 8;
  if (channel.sgnd) sample += int64_t{1} << (channel.prec - 1);
  if (dropped > 0) sample = (sample + (int64_t{1} << (dropped - 1))) >> dropped;
  return static_cast<uint8_t>(std::clamp<int64_t>(sample, 0, 255));
}

}  // namespace

Image decode_jpeg2000(Bytes file) {
  const OpenJpeg& lib = openjpeg();
  check_header(codestream_of(file));
  Source source{.file = file};
  const Stream stream = open(source);
  const Codec codec = make_codec(source);
  opj_image_t* made = nullptr;
  const bool has_header = lib.read_header(stream.get(), codec.get(), &made);
  const Decoded decoded(made, lib.image_destroy);
  if (!has_header) source.refuse();
  check_form(*decoded);
  const int64_t width = decoded->comps[0].w, height = decoded->comps[0].h;
  if (!lib.decode(codec.get(), stream.get(), decoded.get()) ||
      !lib.end_decompress(codec.get(), stream.get())) {
    source.refuse();
  }
  check_form(*decoded);  // only now the library tells what the boxes say of colors
  Image image = blank(width, height, decoded->numcomps < 3 ? 1 : 3);
  for (int64_t c = 0; c < image.channels; ++c) {
    const opj_image_comp_t& channel = decoded->comps[c];
    if (!channel.data || channel.w != width || channel.h != height) source.refuse();
    for (int64_t i = 0; i < width * height; ++i) {
      image.samples[static_cast<size_t>(i * image.channels + c)] =
          byte_of(channel, channel.data[i]);
    }
  }
  return image;
}

}  // namespace onward::image

#else

namespace onward::image {

Image decode_jpeg2000(Bytes) {
  throw Error(
      "this Onward was built without OpenJPEG: save it as PNG, or build Onward where "
      "libopenjp2-7-dev is installed");
}

}  // namespace onward::image

#endif
