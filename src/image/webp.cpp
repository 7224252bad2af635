#include <fmt/format.h>
#include <webp/decode.h>

#include "image/formats.h"
#include "onward/error.h"

namespace onward::image {
namespace {

[[noreturn]] void refuse(VP8StatusCode status) {
  if (status == VP8_STATUS_NOT_ENOUGH_DATA) refuse_cut_off();
  if (status == VP8_STATUS_UNSUPPORTED_FEATURE) throw Error("it uses what libwebp does not decode");
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw Error("there is not enough memory");
  throw Error("its data are damaged");
}

}  // namespace

Image decode_webp(Bytes file) {
  const auto* data = reinterpret_cast<const uint8_t*>(file.data());
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) throw Bug("libwebp is another than the one we know");
  const VP8StatusCode status = WebPGetFeatures(data, file.size(), &config.input);
  if (status != VP8_STATUS_OK) refuse(status);
  if (config.input.has_animation) {
    throw Error("it is animated; only still images are read: write its frames as images first");
  }
  check_size(config.input.width, config.input.height, 3 + 4);  // without loss, 4 while it decodes
  Image image = blank(config.input.width, config.input.height, 3);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {.rgba = image.samples.data(),
                          .stride = static_cast<int>(3 * image.width),
                          .size = image.samples.size()};
  const VP8StatusCode decoded = WebPDecode(data, file.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (decoded != VP8_STATUS_OK) refuse(decoded);
  return image;
}

}  // namespace onward::image
