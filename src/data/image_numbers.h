#pragma once

#include <span>

#include "data/image_loader.h"

namespace onward {

/// Makes tensors of loaded images: the numbers that an input takes.
class ImageNumbers {
 public:
  /// Throws Error where the input's type takes no images.
  ImageNumbers(const ImageForm& form, DType dtype, const ImageOptions& options);

  Tensor tensor(std::span<const LoadedImage> images) const;

 private:
  template <typename T>
  Tensor normalized(std::span<const LoadedImage> images) const;
  Tensor bytes(std::span<const LoadedImage> images) const;
  double number(double sample, size_t channel) const;

  ImageForm form_;
  DType dtype_;
  double scale_;
  std::vector<double> mean_, std_;           // by channel
  std::vector<std::vector<double>> values_;  // by channel and sample
};

/// What an input of labels takes a mask as: [N,H,W], or with a dimension of one more.
struct MaskForm {
  DType dtype = DType::i64;
  enum class Layout : uint8_t { no_channels, channels_first, channels_last } layout{};
  image::Size size;

  Tensor tensor(std::span<const LoadedImage> images) const;
};

/// The form of masks for an input, for images that were cut to a size. Throws Error where the type
/// is not that of masks of that size.
MaskForm mask_form(const Type& input, image::Size size);

}  // namespace onward
