#include "eval/families.h"
#include "image/decode.h"

namespace onward::eval {
namespace {

image::Channels channels_of(const Node& node) {
  const std::string format = node.string_or("pixel_format", "RGB");
  if (format == "Grayscale") return image::Channels::grayscale;
  return format == "BGR" ? image::Channels::bgr : image::Channels::rgb;
}

/// Where a file can't be decoded, the standard's text has an empty matrix for the result, of
/// whatever shape, and its reference evaluator an exception: we refuse too, and say why.
std::vector<Tensor> image_decoder(const Context& c) {
  const auto decoded = std::make_shared<const image::Image>(
      image::decode(c.input(0).bytes(), channels_of(c.node())));
  return {Tensor::view(DType::u8, {decoded->height, decoded->width, decoded->channels},
                       std::as_bytes(std::span(decoded->samples)), decoded)};
}

constexpr KernelDef kImageKernels[] = {{"ImageDecoder", image_decoder}};

}  // namespace

std::span<const KernelDef> image_kernels() { return kImageKernels; }

}  // namespace onward::eval
