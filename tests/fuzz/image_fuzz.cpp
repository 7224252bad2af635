// Any bytes at all as an image, and as a mask: an Error is fine, nothing else is.

#include "image/decode.h"
#include "image/indices.h"
#include "ir/memory_limit.h"
#include "onward/error.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  onward::set_memory_limit(int64_t{64} << 20);  // larger images take their time
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  [[maybe_unused]] static volatile int64_t kept = 0;  // so that every sample is read
  const auto file = std::as_bytes(std::span(data, size));
  try {
    const auto mask = onward::image::decode_indices(file);
    int64_t sum = 0;
    for (const uint16_t each : mask.values) sum += each;
    kept = sum;
  } catch (const onward::Error&) {  // most are no masks, but images
  }
  try {
    const auto image = onward::image::decode(file, onward::image::Channels::rgb);
    int64_t sum = 0;
    for (const uint8_t each : image.samples) sum += each;
    kept = sum;
  } catch (const onward::Error&) {
    return 0;
  }
  return 0;
}
