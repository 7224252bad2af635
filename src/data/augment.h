#pragma once

#include <cstdint>
#include <functional>

#include "ir/tensor.h"

namespace onward {

/// An image on its way into a batch, already cut to the size of the model's input: f32[1,C,H,W] of
/// samples from 0 to 255. Its mask is i64[1,1,H,W], without type where there is none.
struct AugmentedImage {
  Tensor image, mask;
};

/// The key of what is drawn for an example: the same numbers come in whatever batch and thread it
/// is in.
struct AugmentKey {
  uint64_t epoch = 0;
  uint64_t example = 0;
};

/// Changes an image and its mask at random. Several threads call it at once.
using Augment = std::function<AugmentedImage(AugmentedImage, const AugmentKey&)>;

}  // namespace onward
