#pragma once

#include "data/data_options.h"
#include "image/resize.h"

namespace onward {

/// What an input of a model takes an image as.
struct ImageForm {
  enum class Layout : uint8_t { channels_first, channels_last, no_channels };

  image::Size size;
  int64_t channels = 3;
  Layout layout = Layout::channels_first;

  /// Of a batch of so many.
  std::vector<int64_t> dims(int64_t images) const;
};

/// The form that follows from an input's type: [N,3,224,224], [N,224,224,1] or [N,28,28], where the
/// options may say the height and width. Throws Error where the type is not that of images.
ImageForm image_form(const Type& input, const ImageOptions& options);

/// The part of an image that is kept: scaled so that it covers the form, or so that its shorter
/// side has the given length, then its center. As in torchvision, which first computes the longer
/// side, rounded down, then a margin, rounded to even.
struct Placement {
  image::Size scaled;
  image::Crop crop;
};
Placement placed(image::Size image, image::Size form, std::optional<int64_t> resize);

}  // namespace onward
