#include "data/image_form.h"

#include <fmt/format.h>

#include <cmath>

#include "onward/error.h"

namespace onward {
namespace {

bool counts_channels(const Dim& dim) { return dim.value && (*dim.value == 1 || *dim.value == 3); }

int64_t side_of(const Dim& dim, const char* name, std::optional<int64_t> given) {
  if (dim.value && given && *given != *dim.value) {
    throw Error(fmt::format("the image size asks for a {} of {}, but the input's is {}", name,
                            *given, *dim.value));
  }
  if (dim.value && *dim.value < 1) throw Error(fmt::format("its {} is {}", name, *dim.value));
  if (!dim.value && !given) {
    throw Error(fmt::format("its {} is open: give --image-size HEIGHTxWIDTH", name));
  }
  return dim.value ? *dim.value : *given;
}

/// The margin on one side, with halves to even, as Python rounds.
int64_t margin(int64_t whole, int64_t part) {
  const int64_t rest = whole - part;
  return rest / 2 + (rest % 2 == 1 && rest / 2 % 2 == 1 ? 1 : 0);
}

}  // namespace

std::vector<int64_t> ImageForm::dims(int64_t images) const {
  if (layout == Layout::no_channels) return {images, size.height, size.width};
  if (layout == Layout::channels_last) return {images, size.height, size.width, channels};
  return {images, channels, size.height, size.width};
}

ImageForm image_form(const Type& input, const ImageOptions& options) {
  const bool has_rank = input.is_tensor() && input.shape;
  const size_t rank = has_rank ? input.shape->size() : 0;
  if (rank != 3 && rank != 4) {
    throw Error("images take an input of 4 dimensions, such as [N,3,224,224] or [N,224,224,3]");
  }
  const Shape& shape = *input.shape;
  ImageForm form;
  size_t height = 2;
  if (rank == 3) {
    form.layout = ImageForm::Layout::no_channels;
    form.channels = 1;
    height = 1;
  } else if (counts_channels(shape[1])) {
    form.channels = *shape[1].value;
  } else if (counts_channels(shape[3])) {
    form.layout = ImageForm::Layout::channels_last;
    form.channels = *shape[3].value;
    height = 1;
  } else {
    throw Error("neither its second nor its last dimension is 3 channels of color or 1 of gray");
  }
  std::optional<int64_t> given_height, given_width;
  if (options.size) {
    given_height = (*options.size)[0];
    given_width = (*options.size)[1];
  }
  form.size = {.height = side_of(shape[height], "height", given_height),
               .width = side_of(shape[height + 1], "width", given_width)};
  if (options.resize && *options.resize < std::max(form.size.height, form.size.width)) {
    throw Error(
        fmt::format("images resized to a shorter side of {} do not cover the input's "
                    "{} x {}: give a larger --resize",
                    *options.resize, form.size.height, form.size.width));
  }
  if (form.channels == 1 && (options.mean.size() > 1 || options.std.size() > 1)) {
    throw Error("it takes gray images: give one mean and std, not three");
  }
  return form;
}

Placement placed(image::Size image, image::Size form, std::optional<int64_t> resize) {
  // Lengths are below 2^28, so that products fit.
  image::Size scaled;
  if (resize) {
    scaled = image.height <= image.width
                 ? image::Size{*resize, *resize * image.width / image.height}
                 : image::Size{*resize * image.height / image.width, *resize};
  } else if (form.height * image.width >= form.width * image.height) {
    scaled = {form.height, form.height * image.width / image.height};
  } else {
    scaled = {form.width * image.height / image.width, form.width};
  }
  return {.scaled = scaled,
          .crop = {.top = margin(scaled.height, form.height),
                   .left = margin(scaled.width, form.width),
                   .size = form}};
}

}  // namespace onward
