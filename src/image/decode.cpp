#include "image/decode.h"

#include <fmt/format.h>

#include <algorithm>

#include "image/formats.h"
#include "ir/memory_limit.h"
#include "onward/error.h"

namespace onward::image {
namespace {

/// Twice a gigabyte of pixels with four channels, over which Pillow too refuses an image.
constexpr int64_t kMostPixels = 178'956'970;

std::string_view text_of(Bytes file, size_t from, size_t length) {
  const Bytes part = file.subspan(std::min(from, file.size()));
  return {reinterpret_cast<const char*>(part.data()), std::min(length, part.size())};
}

bool is_bmp(Bytes file) { return text_of(file, 0, 2) == "BM"; }

bool is_jpeg(Bytes file) { return text_of(file, 0, 3) == "\xFF\xD8\xFF"; }

/// A file of boxes, or a codestream alone.
bool is_jpeg2000(Bytes file) {
  return text_of(file, 4, 8) == "jP  \r\n\x87\n" || text_of(file, 0, 4) == "\xFF\x4F\xFF\x51";
}

bool is_png(Bytes file) { return text_of(file, 0, 8) == "\x89PNG\r\n\x1A\n"; }

bool is_pnm(Bytes file) {
  const std::string_view start = text_of(file, 0, 3);
  return start.size() == 3 && start[0] == 'P' && start[1] >= '1' && start[1] <= '7' &&
         std::string_view(" \t\n\r\f\v#").find(start[2]) != std::string_view::npos;
}

bool is_tiff(Bytes file) {
  using namespace std::string_view_literals;
  const std::string_view start = text_of(file, 0, 4);
  return start == "II*\0"sv || start == "MM\0*"sv || start == "II+\0"sv || start == "MM\0+"sv;
}

bool is_webp(Bytes file) { return text_of(file, 0, 4) == "RIFF" && text_of(file, 8, 4) == "WEBP"; }

struct Format {
  std::string_view name;
  bool (*begins)(Bytes);
  Image (*decode)(Bytes);
};

constexpr Format kFormats[] = {
    {"BMP", is_bmp, decode_bmp},
    {"JPEG", is_jpeg, decode_jpeg},
    {"JPEG 2000", is_jpeg2000, decode_jpeg2000},
    {"PNG", is_png, decode_png},
    {"PNM", is_pnm, decode_pnm},
    {"TIFF", is_tiff, decode_tiff},
    {"WebP", is_webp, decode_webp},
};

const Format* find_format(Bytes file) {
  const auto* found =
      std::ranges::find_if(kFormats, [&](const Format& each) { return each.begins(file); });
  return found == std::end(kFormats) ? nullptr : found;
}

std::string names_of_formats() {
  std::string names;
  for (const Format& each : kFormats) {
    if (!names.empty()) names += &each == std::end(kFormats) - 1 ? " or " : ", ";
    names += each.name;
  }
  return names;
}

/// Weights of 16 bits, which add up to 1.
uint8_t luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

void make_gray(Image& image) {
  if (image.channels == 1) return;
  auto& samples = image.samples;
  const size_t pixels = samples.size() / 3;
  for (size_t i = 0; i < pixels; ++i) {
    samples[i] = luma(samples[3 * i], samples[3 * i + 1], samples[3 * i + 2]);
  }
  samples.resize(pixels);
  image.channels = 1;
}

void make_colored(Image& image) {
  if (image.channels == 3) return;
  std::vector<uint8_t> samples(3 * image.samples.size());
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = image.samples[i / 3];
  image.samples = std::move(samples);
  image.channels = 3;
}

void swap_red_and_blue(Image& image) {
  auto& samples = image.samples;
  for (size_t i = 0; i < samples.size(); i += 3) std::swap(samples[i], samples[i + 2]);
}

}  // namespace

std::string_view format_of(Bytes file) {
  const Format* format = find_format(file);
  return format ? format->name : std::string_view();
}

Image decode(Bytes file, Channels channels) {
  const Format* format = find_format(file);
  if (!format) {
    throw Error(fmt::format("{} bytes are no image: they are not in one of the formats {}",
                            file.size(), names_of_formats()),
                ErrorCode::data);
  }
  Image image;
  try {
    image = format->decode(file);
  } catch (const Error& error) {
    throw Error(fmt::format("cannot read this {} image: {}", format->name, error.what()),
                ErrorCode::data);
  }
  if (channels == Channels::grayscale) {
    make_gray(image);
    return image;
  }
  make_colored(image);
  if (channels == Channels::bgr) swap_red_and_blue(image);
  return image;
}

void check_size(int64_t width, int64_t height, int64_t bytes_per_pixel) {
  if (width < 1 || height < 1) throw Error(fmt::format("it has {} x {} pixels", width, height));
  if (height > kMostPixels / width) {
    throw Error(fmt::format("it has {} x {} pixels, more than the {} that are read", width, height,
                            kMostPixels));
  }
  refuse_beyond_memory(width * height * bytes_per_pixel,
                       fmt::format("an image of {} x {} pixels", width, height));
}

Image blank(int64_t width, int64_t height, int64_t channels) {
  check_size(width, height, channels);
  return {.height = height,
          .width = width,
          .channels = channels,
          .samples = std::vector<uint8_t>(static_cast<size_t>(width * height * channels))};
}

void refuse_cut_off() { throw Error("it ends too early"); }

}  // namespace onward::image
