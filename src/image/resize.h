#pragma once

#include "image/decode.h"
#include "image/indices.h"

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
/// the image shrinks, the filter widens with it. Samples are those of Pillow 13's
/// resize(size, BILINEAR), bit for bit.
Image resized(const Image& image, Size size, const Crop& crop);

/// The same of numbers that have no mean: each pixel takes the value of the one nearest to it, as
/// in Pillow's resize(size, NEAREST).
IndexMap resized_nearest(const IndexMap& map, Size size, const Crop& crop);

}  // namespace onward::image
