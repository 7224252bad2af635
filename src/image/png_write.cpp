#include <png.h>

#include "image/encode.h"
#include "onward/error.h"

namespace onward::image {

std::string encode_png(const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string file(size, '\0');
  if (png_image_write_to_memory(&header, file.data(), &size, 0, image.samples.data(), 0, nullptr) ==
      0) {
    throw Error(std::string("libpng does not write an image: ") + header.message);
  }
  file.resize(size);
  return file;
}

}  // namespace onward::image
