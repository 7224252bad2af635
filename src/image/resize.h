#pragma once

#include "image/decode.h"

namespace onward::image {

struct Size {
  int64_t height = 0;
  int64_t width = 0;
};

/// The part of an image that is kept.
struct Crop {
  int64_t top = 0;
  int64_t left = 0;
  Size size;
};

/// The image at another size, of which only the crop is computed. Bilinear with antialias: where
/// the image shrinks, the filter widens with it. Samples are those of Pillow's
/// resize(size, BILINEAR), bit for bit.
Image resized(const Image& image, Size size, const Crop& crop);

}  // namespace onward::image
