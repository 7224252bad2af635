// Any bytes at all as .npy, .npz and IDX files: an Error is fine, nothing else is.

#include "data/idx.h"
#include "data/npy.h"
#include "data/npz.h"
#include "onward/error.h"

namespace {

/// Touches what was read, so that a tensor that points astray is noticed.
int64_t sum_of(const onward::Tensor& tensor) {
  int64_t sum = 0;
  for (const std::byte each : tensor.bytes()) sum += std::to_integer<int64_t>(each);
  if (tensor.dtype() == onward::DType::string) {
    for (const std::string& text : tensor.strings()) sum += static_cast<int64_t>(text.size());
  }
  return sum;
}

template <typename Read>
void attempt(Read read) {
  try {
    read();
  } catch (const onward::Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  [[maybe_unused]] static volatile int64_t kept = 0;  // so that every element is read
  attempt([&] { kept = sum_of(onward::parse_npy(bytes)); });
  attempt([&] { kept = sum_of(onward::parse_idx(bytes)); });
  attempt([&] {
    for (const auto& [name, tensor] : onward::parse_npz(bytes, nullptr)) kept = sum_of(tensor);
  });
  return 0;
}
