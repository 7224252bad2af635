#pragma once

#include <string>

#include "image/decode.h"

namespace onward::image {

/// An image of 1 or 3 channels as a PNG file.
std::string encode_png(const Image& image);

}  // namespace onward::image
