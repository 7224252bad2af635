#include "data/convert.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "onward/error.h"

namespace onward {
namespace {

/// The digits (in base 2) and the sign of the numbers of a type; no digits where it never converts.
/// Numbers become f32 or wider where they become floats, whose range holds that of all with fewer
/// digits.
struct Range {
  int digits = 0;
  bool has_sign = false;
};

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return {53, true};
    case DType::f32:
      return {24, true};
    case DType::f16:
      return {11, true};
    case DType::boolean:
      return {1, false};
    default:
      break;
  }
  if (is_float(dtype)) return {8, true};
  if (!is_integer(dtype)) return {};
  const bool has_sign = dtype == DType::i2 || dtype == DType::i4 || dtype == DType::i8 ||
                        dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
  return {bits(dtype) - (has_sign ? 1 : 0), has_sign};
}

template <typename To>
std::shared_ptr<std::string> elements_as(const Tensor& tensor) {
  auto bytes = std::make_shared<std::string>(static_cast<size_t>(tensor.size()) * sizeof(To), '\0');
  const auto put = [&](int64_t index, To value) {
    std::memcpy(bytes->data() + static_cast<size_t>(index) * sizeof(To), &value, sizeof(To));
  };
  if (tensor.dtype() == DType::u8) {  // images: the one conversion that takes time
    const auto from = tensor.data<uint8_t>();
    for (int64_t i = 0; i < tensor.size(); ++i) {
      put(i, static_cast<To>(from[static_cast<size_t>(i)]));
    }
    return bytes;
  }
  const bool from_float = is_float(tensor.dtype());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    put(i, from_float ? static_cast<To>(tensor.number(i)) : static_cast<To>(tensor.integer(i)));
  }
  return bytes;
}

struct Conversion {
  DType to;
  std::shared_ptr<std::string> (*elements)(const Tensor&);
};

constexpr Conversion kConversions[] = {
    {DType::f32, elements_as<float>},    {DType::f64, elements_as<double>},
    {DType::i8, elements_as<int8_t>},    {DType::i16, elements_as<int16_t>},
    {DType::i32, elements_as<int32_t>},  {DType::i64, elements_as<int64_t>},
    {DType::u8, elements_as<uint8_t>},   {DType::u16, elements_as<uint16_t>},
    {DType::u32, elements_as<uint32_t>}, {DType::u64, elements_as<uint64_t>},
};

const Conversion* find_conversion(DType to) {
  for (const Conversion& each : kConversions) {
    if (each.to == to) return &each;
  }
  return nullptr;
}

}  // namespace

bool converts_exactly(DType from, DType to) {
  if (from == to) return true;
  const Range small = range_of(from), large = range_of(to);
  if (small.digits == 0 || !find_conversion(to)) return false;
  if (is_float(from) && !is_float(to)) return false;
  return small.digits <= large.digits && (large.has_sign || !small.has_sign);
}

Tensor converted(const Tensor& tensor, DType to) {
  if (tensor.dtype() == to) return tensor;
  if (!converts_exactly(tensor.dtype(), to)) {
    throw Bug(fmt::format("{} does not convert to {}", name(tensor.dtype()), name(to)));
  }
  return Tensor::from_bytes(to, tensor.dims(), find_conversion(to)->elements(tensor));
}

}  // namespace onward
