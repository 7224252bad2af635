#include "train/example_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/image_folder.h"
#include "image/encode.h"
#include "image/resize.h"
#include "onward/error.h"
#include "train/html.h"

namespace onward {
namespace {

constexpr int64_t kMaxSide = 112;  // of a picture, in pixels
constexpr size_t kMaxFields = 12;

std::string png_uri(const image::Image& image) {
  return html::data_uri("image/png", image::encode_png(image));
}

/// The image, no larger than a report has use for.
image::Image small(image::Image image) {
  const int64_t longer = std::max(image.height, image.width);
  if (longer <= kMaxSide) return image;
  const image::Size size{.height = std::max<int64_t>(1, image.height * kMaxSide / longer),
                         .width = std::max<int64_t>(1, image.width * kMaxSide / longer)};
  return image::resized(image, size, {.top = 0, .left = 0, .size = size});
}

/// Where the dimensions of an array of images are; [N,C,H,W], [N,H,W,C] or [N,H,W].
struct PictureArray {
  const Tensor* array = nullptr;
  int64_t height = 0, width = 0, channels = 1;
  bool channels_last = true;
};

std::optional<PictureArray> as_pictures(const Tensor& array) {
  const auto& dims = array.dims();
  const auto are_colors = [](int64_t count) { return count == 1 || count == 3; };
  const bool is_real = is_float(array.dtype()) || array.dtype() == DType::u8;
  PictureArray found{.array = &array};
  if (!is_real) return std::nullopt;
  if (dims.size() == 3) {
    found.height = dims[1], found.width = dims[2];
  } else if (dims.size() == 4 && are_colors(dims[3])) {
    found.height = dims[1], found.width = dims[2], found.channels = dims[3];
  } else if (dims.size() == 4 && are_colors(dims[1])) {
    found.height = dims[2], found.width = dims[3], found.channels = dims[1];
    found.channels_last = false;
  }
  if (std::min(found.height, found.width) < 4) return std::nullopt;
  if (std::max(found.height, found.width) > 4096) return std::nullopt;
  return found;
}

/// The array `image`, or the only one whose examples look like images.
std::optional<PictureArray> find_pictures(const Dataset& data) {
  std::optional<PictureArray> only;
  for (const auto& [name, array] : data.arrays()) {
    const auto pictures = as_pictures(array);
    if (!pictures) continue;
    if (name == kImageArray) return pictures;
    if (only) return std::nullopt;
    only = pictures;
  }
  return only;
}

/// Samples from 0 to 1, or from 0 to 255, as they are; others from the least to the largest.
image::Image picture_of(const PictureArray& pictures, int64_t place) {
  image::Image image{.height = pictures.height,
                     .width = pictures.width,
                     .channels = pictures.channels,
                     .samples = {}};
  const int64_t pixels = image.height * image.width, count = pixels * image.channels;
  std::vector<double> values;
  double least = INFINITY, largest = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t pixel = i / image.channels, channel = i % image.channels;
    const int64_t at = pictures.channels_last ? i : channel * pixels + pixel;
    const double value = pictures.array->number(place * count + at);
    if (std::isfinite(value)) least = std::min(least, value), largest = std::max(largest, value);
    values.push_back(value);
  }
  const bool is_plain = least >= 0 && largest <= 255;
  const double low = is_plain ? 0 : least;
  const double high = !is_plain ? largest : largest <= 1 ? 1 : 255;
  for (const double value : values) {
    const double part = high > low && std::isfinite(value) ? (value - low) / (high - low) : 0;
    image.samples.push_back(static_cast<uint8_t>(std::clamp(255 * part + 0.5, 0.0, 255.0)));
  }
  return image;
}

/// The column as the table had it: a number, or a text. A missing number is the mean.
std::string field_of(const Dataset& data, const TableColumn& column, int64_t place) {
  const auto found = data.arrays().find(column.name);
  if (found == data.arrays().end() || place >= found->second.size()) return {};
  if (!column.is_categorical()) return fmt::format("{:.6g}", found->second.number(place));
  const auto text = static_cast<size_t>(found->second.integer(place));
  return text < column.categories.size() ? column.categories[text] : std::string();
}

std::string class_of(const Dataset& data, int64_t label) {
  const auto& classes = data.options().classes;
  const auto at = static_cast<size_t>(label);
  return at < classes.size() ? classes[at] : std::to_string(label);
}

}  // namespace

std::vector<ShownExample> shown_examples(const Dataset& data,
                                         std::span<const WrongExample> examples,
                                         std::span<const int64_t> places) {
  const auto pictures = data.images() ? std::nullopt : find_pictures(data);
  const auto& schema = data.options().schema;
  std::vector<ShownExample> shown;
  for (size_t i = 0; i < examples.size(); ++i) {
    const WrongExample& each = examples[i];
    const int64_t place = places[i];
    ShownExample view{.name = fmt::format("example {}", place),
                      .picture = {},
                      .fields = {},
                      .truth = class_of(data, each.truth),
                      .predicted = class_of(data, each.predicted),
                      .probability = each.probability,
                      .of_truth = each.of_truth,
                      .loss = each.loss};
    if (data.images()) {
      const std::string file = data.images()->read(place);
      view.name = data.images()->name(place);
      view.picture = png_uri(small(
          image::decode(std::as_bytes(std::span(file.data(), file.size())), image::Channels::rgb)));
    } else if (schema) {
      view.name = fmt::format("row {}", place + 1);
      for (const TableColumn& column : schema->columns) {
        if (view.fields.size() == kMaxFields) break;
        view.fields.emplace_back(column.name, field_of(data, column, place));
      }
    } else if (pictures) {
      view.picture = png_uri(small(picture_of(*pictures, place)));
    }
    shown.push_back(std::move(view));
  }
  return shown;
}

}  // namespace onward
