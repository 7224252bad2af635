#include "data/image_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/convert.h"
#include "onward/error.h"

namespace onward {
namespace {

/// Bytes take samples as they are.
void require_dtype(DType dtype, const ImageOptions& options) {
  if (dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16) {
    return;
  }
  if (dtype != DType::u8) {
    throw Error(fmt::format("it takes {}: images are floats or u8", name(dtype)));
  }
  const ImageOptions plain;
  if (options.mean != plain.mean || options.std != plain.std || options.scale != plain.scale) {
    throw Error(
        "it takes u8, samples from 0 to 255 as they are: mean, std and scale are for floats");
  }
}

uint8_t rounded_sample(float sample) {
  return static_cast<uint8_t>(std::clamp(std::nearbyint(sample), 0.0F, 255.0F));
}

}  // namespace

ImageNumbers::ImageNumbers(const ImageForm& form, DType dtype, const ImageOptions& options)
    : form_(form), dtype_(dtype), scale_(options.scale) {
  require_dtype(dtype, options);
  for (size_t c = 0; c < static_cast<size_t>(form.channels); ++c) {
    mean_.push_back(options.mean.size() == 1 ? options.mean[0] : options.mean[c]);
    std_.push_back(options.std.size() == 1 ? options.std[0] : options.std[c]);
    auto& of_channel = values_.emplace_back();
    for (int sample = 0; sample < 256; ++sample) of_channel.push_back(number(sample, c));
  }
}

/// Computed in double, so that it is rounded once.
double ImageNumbers::number(double sample, size_t channel) const {
  return (sample * scale_ - mean_[channel]) / std_[channel];
}

template <typename T>
Tensor ImageNumbers::normalized(std::span<const LoadedImage> images) const {
  std::vector<std::vector<T>> table;
  for (const auto& values : values_) table.emplace_back(values.begin(), values.end());
  const auto channels = static_cast<size_t>(form_.channels);
  const size_t pixels = static_cast<size_t>(form_.size.height * form_.size.width);
  const bool channels_first = form_.layout == ImageForm::Layout::channels_first;
  auto numbers = std::make_shared<std::vector<T>>(images.size() * pixels * channels);
  T* to = numbers->data();
  for (const LoadedImage& image : images) {
    for (size_t c = 0; c < channels; ++c) {
      T* first = channels_first ? to + c * pixels : to + c;
      const size_t step = channels_first ? 1 : channels;
      for (size_t i = 0; i < pixels; ++i) {
        first[i * step] = image.augmented.empty()
                              ? table[c][image.samples[i * channels + c]]
                              : static_cast<T>(number(image.augmented[c * pixels + i], c));
      }
    }
    to += pixels * channels;
  }
  const auto bytes = std::as_bytes(std::span(*numbers));
  return Tensor::view(dtype_of<T>(), form_.dims(static_cast<int64_t>(images.size())), bytes,
                      std::move(numbers));
}

Tensor ImageNumbers::bytes(std::span<const LoadedImage> images) const {
  auto bytes = std::make_shared<std::string>();
  const auto pixels = static_cast<size_t>(form_.size.height * form_.size.width);
  const auto channels = static_cast<size_t>(form_.channels);
  const bool channels_first = form_.layout == ImageForm::Layout::channels_first;
  for (const LoadedImage& image : images) {
    if (image.augmented.empty() && !channels_first) {
      bytes->append(image.samples.begin(), image.samples.end());
      continue;
    }
    for (size_t i = 0; i < pixels * channels; ++i) {
      const size_t pixel = channels_first ? i % pixels : i / channels;
      const size_t c = channels_first ? i / pixels : i % channels;
      bytes->push_back(static_cast<char>(
          image.augmented.empty() ? image.samples[pixel * channels + c]
                                  : rounded_sample(image.augmented[c * pixels + pixel])));
    }
  }
  return Tensor::from_bytes(dtype_, form_.dims(static_cast<int64_t>(images.size())),
                            std::move(bytes));
}

Tensor ImageNumbers::tensor(std::span<const LoadedImage> images) const {
  if (dtype_ == DType::u8) return bytes(images);
  if (dtype_ == DType::f64) return normalized<double>(images);
  return converted(normalized<float>(images), dtype_);
}

Tensor MaskForm::tensor(std::span<const LoadedImage> images) const {
  std::vector<int64_t> values;
  for (const LoadedImage& image : images) {
    values.insert(values.end(), image.mask.begin(), image.mask.end());
  }
  std::vector<int64_t> dims = {static_cast<int64_t>(images.size()), size.height, size.width};
  if (layout == Layout::channels_first) dims.insert(dims.begin() + 1, 1);
  if (layout == Layout::channels_last) dims.push_back(1);
  const Tensor wide = Tensor::of<int64_t>(std::move(dims), values);
  if (const auto problem = conversion_problem(wide, dtype)) {
    throw Error(
        fmt::format("masks do not fit their input, which takes {}: {}", name(dtype), *problem),
        ErrorCode::data);
  }
  return converted(wide, dtype);
}

MaskForm mask_form(const Type& input, image::Size size) {
  const size_t rank = input.is_tensor() && input.shape ? input.shape->size() : 0;
  MaskForm form{.dtype = input.dtype, .layout = MaskForm::Layout::no_channels, .size = size};
  size_t height = 1;
  const auto is_one = [&](size_t dim) { return (*input.shape)[dim].value == 1; };
  if (rank == 4 && is_one(1)) {
    form.layout = MaskForm::Layout::channels_first;
    height = 2;
  } else if (rank == 4 && is_one(3)) {
    form.layout = MaskForm::Layout::channels_last;
  } else if (rank != 3) {
    throw Error("masks take an input of labels such as i64[N,224,224] or f32[N,1,224,224]");
  }
  if (!is_integer(input.dtype) && !is_float(input.dtype)) {
    throw Error(fmt::format("it takes {}: masks are integers or floats", name(input.dtype)));
  }
  const auto fits = [&](size_t dim, int64_t side) {
    return (*input.shape)[dim].value.value_or(side) == side;
  };
  if (!fits(height, size.height) || !fits(height + 1, size.width)) {
    throw Error(
        fmt::format("masks are cut to the size of their images, {} x {}", size.height, size.width));
  }
  return form;
}

}  // namespace onward
