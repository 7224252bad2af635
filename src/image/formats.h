#pragma once

// The decoders, one file each. They give 3 channels (red, green, blue) or 1, and throw Error with a
// sentence on the image ("it ends too early"), to which decode() adds which image that is.

#include "image/decode.h"
#include "image/indices.h"

namespace onward::image {

using Bytes = std::span<const std::byte>;

Image decode_bmp(Bytes file);
Image decode_jpeg(Bytes file);
Image decode_jpeg2000(Bytes file);
Image decode_png(Bytes file);
Image decode_pnm(Bytes file);
Image decode_tiff(Bytes file);
Image decode_webp(Bytes file);

// The same for the numbers that stand in the file, one for each pixel. They throw Error where the
// file has colors.
IndexMap bmp_indices(Bytes file);
IndexMap png_indices(Bytes file);
IndexMap pnm_indices(Bytes file);

/// What is thrown where pixels have colors of their own, and no index.
[[noreturn]] void refuse_colors();

/// An image whose samples are all 0. Throws Error where it has no pixels, or more than anyone
/// means: a few bytes can ask for any size.
Image blank(int64_t width, int64_t height, int64_t channels);

/// The same check, for those who need `bytes_per_pixel` while they decode.
void check_size(int64_t width, int64_t height, int64_t bytes_per_pixel);

/// What is thrown where a file has fewer bytes than it announces.
[[noreturn]] void refuse_cut_off();

}  // namespace onward::image
