#include "image/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "image/formats.h"
#include "onward/error.h"

namespace onward::image {
namespace {

/// Weights are rounded to so many binary digits behind the point: a sum of weighted samples, which
/// is below 256 and may swing a little below zero, then fits into 32 bits.
constexpr int kWeightBits = 22;

/// Which samples of a line a new one is made of, and how much of each.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

/// For the new samples from `begin` on, `count` of them, of a line that goes from one length to
/// another: a triangle around the place of each, at least a sample wide on either side.
std::vector<Taps> taps_of(int64_t from, int64_t to, int64_t begin, int64_t count) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);
  std::vector<Taps> all;
  for (int64_t i = begin; i < begin + count; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const auto last = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), from);
    std::vector<double> weights;
    double sum = 0;
    for (int64_t at = first; at < last; ++at) {
      const double distance = (static_cast<double>(at) - center + 0.5) * (1.0 / support);
      weights.push_back(std::max(1 - std::abs(distance), 0.0));
      sum += weights.back();
    }
    Taps taps{.first = first, .weights = {}};
    for (const double weight : weights) {
      const double share = sum == 0 ? weight : weight / sum;
      taps.weights.push_back(static_cast<int32_t>(0.5 + share * (1 << kWeightBits)));
    }
    all.push_back(std::move(taps));
  }
  return all;
}

/// A weighted sum of samples that lie `stride` apart.
uint8_t weighted(const uint8_t* samples, int64_t stride, const Taps& taps) {
  int32_t sum = 1 << (kWeightBits - 1);
  for (const int32_t weight : taps.weights) {
    sum += *samples * weight;
    samples += stride;
  }
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

/// What all taps together reach from, and up to.
std::pair<int64_t, int64_t> part_of(const std::vector<Taps>& taps) {
  return {taps.front().first, taps.back().first + std::ssize(taps.back().weights)};
}

// A line or column of one tap is copied, as its weight is 1.

/// New columns for some lines of an image whose first column is number `left`.
struct ColumnPart {
  int64_t left, top, bottom;
};
Image with_columns(const Image& image, const std::vector<Taps>& columns, const ColumnPart& part) {
  const int64_t channels = image.channels;
  Image result = blank(std::ssize(columns), part.bottom - part.top, channels);
  uint8_t* to = result.samples.data();
  for (int64_t y = part.top; y < part.bottom; ++y) {
    const uint8_t* line = image.samples.data() + y * image.width * channels;
    for (const Taps& taps : columns) {
      const uint8_t* first = line + (taps.first - part.left) * channels;
      for (int64_t c = 0; c < channels; ++c) *to++ = weighted(first + c, channels, taps);
    }
  }
  return result;
}

/// New lines for some columns of an image whose first line is number `top`.
struct LinePart {
  int64_t top, left, right;
};
Image with_lines(const Image& image, const std::vector<Taps>& lines, const LinePart& part) {
  const int64_t stride = image.width * image.channels;
  const int64_t width = (part.right - part.left) * image.channels;
  Image result = blank(part.right - part.left, std::ssize(lines), image.channels);
  uint8_t* to = result.samples.data();
  for (const Taps& taps : lines) {
    const uint8_t* first =
        image.samples.data() + (taps.first - part.top) * stride + part.left * image.channels;
    for (int64_t x = 0; x < width; ++x) *to++ = weighted(first + x, stride, taps);
  }
  return result;
}

/// The samples that are nearest to `count` new ones from `begin` on. The places are added up, as
/// Pillow adds them up, so that halves are rounded as there.
std::vector<int64_t> nearest_places(int64_t from, int64_t to, int64_t begin, int64_t count) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  double place = scale * 0.5;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < begin + count; ++i) {
    if (i >= begin) places.push_back(std::min(static_cast<int64_t>(place), from - 1));
    place += scale;
  }
  return places;
}

void require_inside(Size size, const Crop& crop) {
  const bool inside = crop.top >= 0 && crop.left >= 0 && crop.size.height > 0 &&
                      crop.size.width > 0 && crop.top + crop.size.height <= size.height &&
                      crop.left + crop.size.width <= size.width;
  if (!inside) throw Bug("a crop leaves its image");
}

}  // namespace

IndexMap resized_nearest(const IndexMap& map, Size size, const Crop& crop) {
  require_inside(size, crop);
  const auto columns = nearest_places(map.width, size.width, crop.left, crop.size.width);
  IndexMap result{.height = crop.size.height, .width = crop.size.width, .values = {}};
  result.values.reserve(static_cast<size_t>(result.height * result.width));
  for (const int64_t y : nearest_places(map.height, size.height, crop.top, crop.size.height)) {
    const uint16_t* line = map.values.data() + y * map.width;
    for (const int64_t x : columns) result.values.push_back(line[x]);
  }
  return result;
}

Image resized(const Image& image, Size size, const Crop& crop) {
  require_inside(size, crop);
  const auto columns = taps_of(image.width, size.width, crop.left, crop.size.width);
  const auto lines = taps_of(image.height, size.height, crop.top, crop.size.height);
  const int64_t lost_lines = image.height - size.height, lost_columns = image.width - size.width;
  if (lost_lines > 0 && lost_lines > 2 * lost_columns) {  // as Pillow does since version 13
    const auto [left, right] = part_of(columns);
    const Image flat = with_lines(image, lines, {.top = 0, .left = left, .right = right});
    return with_columns(flat, columns, {.left = left, .top = 0, .bottom = flat.height});
  }
  const auto [top, bottom] = part_of(lines);
  const Image narrow = with_columns(image, columns, {.left = 0, .top = top, .bottom = bottom});
  return with_lines(narrow, lines, {.top = top, .left = 0, .right = narrow.width});
}

}  // namespace onward::image
