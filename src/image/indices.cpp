#include "image/indices.h"

#include <fmt/format.h>

#include "image/formats.h"
#include "onward/error.h"

namespace onward::image {

IndexMap decode_indices(Bytes file) {
  const std::string_view format = format_of(file);
  try {
    if (format == "PNG") return png_indices(file);
    if (format == "BMP") return bmp_indices(file);
    if (format == "PNM") return pnm_indices(file);
  } catch (const Error& error) {
    throw Error(fmt::format("cannot read this {} mask: {}", format, error.what()), ErrorCode::data);
  }
  throw Error(fmt::format("masks are PNG, BMP or PNM files, this {}: save it as PNG",
                          format.empty() ? "is none of them" : fmt::format("is {}", format)),
              ErrorCode::data);
}

void refuse_colors() {
  throw Error(
      "its pixels have colors, not the numbers of classes: save it as a gray or palette PNG whose "
      "pixel values are the classes (modes 'L' and 'P' in Pillow)");
}

}  // namespace onward::image
