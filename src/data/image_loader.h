#pragma once

#include <memory>
#include <optional>

#include "data/augment.h"
#include "data/image_folder.h"
#include "data/image_form.h"
#include "data/mask_folder.h"

namespace onward {

/// An image in the form of an input, and its mask.
struct LoadedImage {
  std::vector<uint8_t> samples;  // rows of pixels of channels
  std::vector<float> augmented;  // in their place, channel by channel
  std::vector<uint16_t> mask;    // empty where there are none
  Tensor prepared;               // by a model, in place of samples
};

/// Reads single images of a folder, cuts them to the size of an input, and changes them as a
/// training asks for. Several threads may call it at once.
class ImageLoader {
 public:
  ImageLoader(std::shared_ptr<const ImageFolder> folder, const ImageForm& form,
              std::optional<int64_t> resize)
      : folder_(std::move(folder)), form_(form), resize_(resize) {}

  void use_masks(std::shared_ptr<const MaskFolder> masks, const MaskValues& values) {
    masks_ = std::move(masks);
    values_ = values;
  }
  void use_preprocess(Preprocess preprocess) { preprocess_ = std::move(preprocess); }
  void use_augment(Augment augment) { augment_ = std::move(augment); }

  /// Throws Error that names the file which can't be read.
  LoadedImage load(int64_t image, uint64_t epoch) const;
  /// Throws the same Error where the image or its mask can't be decoded.
  void require_readable(int64_t image) const;

  /// The bytes that a loaded image takes.
  int64_t bytes() const;

 private:
  image::Image decoded(int64_t image) const;
  Tensor prepared(int64_t image) const;
  image::IndexMap decoded_mask(int64_t image) const;
  image::IndexMap mask_of(int64_t image, image::Size size, const Placement& at) const;
  void require_known(const image::IndexMap& mask) const;
  void augment(LoadedImage& loaded, const AugmentKey& key) const;

  std::shared_ptr<const ImageFolder> folder_;
  std::shared_ptr<const MaskFolder> masks_;
  ImageForm form_;
  std::optional<int64_t> resize_;
  MaskValues values_;
  Preprocess preprocess_;
  Augment augment_;
};

}  // namespace onward
