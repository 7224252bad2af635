#include "data/image_loader.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

std::string path_of(const ImageFolder& folder, int64_t file) {
  return printable((folder.root() / folder.name(file)).string());
}

/// A mask as an augmentation takes it.
Tensor mask_tensor(const std::vector<uint16_t>& mask, image::Size size) {
  return Tensor::of<int64_t>({1, 1, size.height, size.width},
                             std::vector<int64_t>(mask.begin(), mask.end()));
}

}  // namespace

image::Image ImageLoader::decoded(int64_t image) const {
  try {
    const std::string file = folder_->read(image);
    const auto channels = form_.channels == 1 ? image::Channels::grayscale : image::Channels::rgb;
    return image::decode(std::as_bytes(std::span(file)), channels);
  } catch (Error& error) {
    throw error.add_context(fmt::format("in image '{}': repair it, or take it out of the folder",
                                        path_of(*folder_, image)));
  }
}

void ImageLoader::require_readable(int64_t image) const {
  decoded(image);
  if (masks_) decoded_mask(image);
}

LoadedImage ImageLoader::load(int64_t image, uint64_t epoch) const {
  LoadedImage loaded;
  if (preprocess_) {
    loaded.prepared = prepared(image);
    return loaded;
  }
  const image::Image whole = decoded(image);
  const image::Size size = {whole.height, whole.width};
  const Placement at = placed(size, form_.size, resize_);
  loaded.samples = image::resized(whole, at.scaled, at.crop).samples;
  if (masks_) loaded.mask = mask_of(image, size, at).values;
  if (augment_) augment(loaded, {.epoch = epoch, .example = static_cast<uint64_t>(image)});
  return loaded;
}

Tensor ImageLoader::prepared(int64_t image) const {
  Tensor given;
  if (preprocess_.takes == Preprocess::Takes::file) {
    auto file = std::make_shared<const std::string>(folder_->read(image));
    const auto size = static_cast<int64_t>(file->size());
    given = Tensor::from_bytes(DType::u8, {size}, std::move(file));
  } else {
    const auto whole = std::make_shared<const image::Image>(decoded(image));
    given = Tensor::view(DType::u8, {whole->height, whole->width, whole->channels},
                         std::as_bytes(std::span(whole->samples)), whole);
  }
  try {
    return preprocess_.run(given);
  } catch (Error& error) {
    throw error.add_context(
        fmt::format("in the preprocessing of image '{}'", path_of(*folder_, image)));
  }
}

image::IndexMap ImageLoader::decoded_mask(int64_t image) const {
  const int64_t place = masks_->file_of(image);
  try {
    const std::string file = masks_->files().read(place);
    return image::decode_indices(std::as_bytes(std::span(file)));
  } catch (Error& error) {
    throw error.add_context(fmt::format("in mask '{}'", path_of(masks_->files(), place)));
  }
}

image::IndexMap ImageLoader::mask_of(int64_t image, image::Size size, const Placement& at) const {
  const image::IndexMap mask = decoded_mask(image);
  try {
    if (mask.height != size.height || mask.width != size.width) {
      throw Error(fmt::format("it has {} x {} pixels, but its image '{}' has {} x {}", mask.width,
                              mask.height, path_of(*folder_, image), size.width, size.height),
                  ErrorCode::data);
    }
    require_known(mask);
    return image::resized_nearest(mask, at.scaled, at.crop);
  } catch (Error& error) {
    throw error.add_context(
        fmt::format("in mask '{}'", path_of(masks_->files(), masks_->file_of(image))));
  }
}

/// All of it is looked at, not only what the crop keeps.
void ImageLoader::require_known(const image::IndexMap& mask) const {
  if (!values_.classes) return;
  const auto is_known = [&](uint16_t value) {
    return value < *values_.classes || (values_.ignored && value == *values_.ignored);
  };
  const auto found = std::ranges::find_if_not(mask.values, is_known);
  if (found == mask.values.end()) return;
  const auto pixel = found - mask.values.begin();
  throw Error(
      fmt::format("pixel x {}, y {} is {}, but the model tells classes 0 to {}{}",
                  pixel % mask.width, pixel / mask.width, *found, *values_.classes - 1,
                  values_.ignored
                      ? fmt::format(" and ignores {}", *values_.ignored)
                      : fmt::format("; if {} marks pixels that do not count, give `onward prepare "
                                    "--ignore-index {}`",
                                    *found, *found)),
      ErrorCode::data);
}

void ImageLoader::augment(LoadedImage& loaded, const AugmentKey& key) const {
  const size_t pixels = static_cast<size_t>(form_.size.height * form_.size.width);
  const auto channels = static_cast<size_t>(form_.channels);
  std::vector<float> numbers(pixels * channels);
  for (size_t i = 0; i < loaded.samples.size(); ++i) {
    numbers[i % channels * pixels + i / channels] = loaded.samples[i];
  }
  AugmentedImage changed{
      .image = Tensor::of<float>({1, form_.channels, form_.size.height, form_.size.width}, numbers),
      .mask = {}};
  if (masks_) changed.mask = mask_tensor(loaded.mask, form_.size);
  try {
    changed = augment_(std::move(changed), key);
    const auto samples = changed.image.data<float>();
    loaded.augmented.assign(samples.begin(), samples.end());
    loaded.samples = {};
    if (!masks_) return;
    std::ranges::transform(changed.mask.data<int64_t>(), loaded.mask.begin(), [](int64_t value) {
      if (std::in_range<uint16_t>(value)) return static_cast<uint16_t>(value);
      throw Error(fmt::format("it makes a mask with {}, which is no class", value));
    });
  } catch (Error& error) {
    throw error.add_context(fmt::format("in the augmentation of image '{}'",
                                        path_of(*folder_, static_cast<int64_t>(key.example))));
  }
}

int64_t ImageLoader::bytes() const {
  if (preprocess_) return preprocess_.bytes;
  const int64_t pixels = form_.size.height * form_.size.width;
  const int64_t sample = augment_ ? static_cast<int64_t>(sizeof(float)) : 1;
  return pixels * (form_.channels * sample + (masks_ ? 2 : 0));
}

}  // namespace onward
