#include "data/convert.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>

#include "ir/float_formats.h"
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
  const auto put_all = [&](auto from) {
    for (size_t i = 0; i < from.size(); ++i) put(static_cast<int64_t>(i), static_cast<To>(from[i]));
    return bytes;
  };
  // Images, and what NumPy makes of Python's floats: the conversions that take time.
  if (tensor.dtype() == DType::u8) return put_all(tensor.data<uint8_t>());
  if (tensor.dtype() == DType::f64) return put_all(tensor.data<double>());
  const bool from_float = is_float(tensor.dtype());
  for (int64_t i = 0; i < tensor.size(); ++i) {
    put(i, from_float ? static_cast<To>(tensor.number(i)) : static_cast<To>(tensor.integer(i)));
  }
  return bytes;
}

template <DType To>
std::shared_ptr<std::string> small_floats(const Tensor& tensor) {
  auto bytes = std::make_shared<std::string>();
  bytes->reserve(static_cast<size_t>(tensor.size()) * 2);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const auto pattern =
        static_cast<uint16_t>(encode_small_float(To, tensor.number(i), Overflow::special));
    bytes->append(reinterpret_cast<const char*>(&pattern), sizeof pattern);
  }
  return bytes;
}

struct Conversion {
  DType to;
  std::shared_ptr<std::string> (*elements)(const Tensor&);
};

constexpr Conversion kConversions[] = {
    {DType::f16, small_floats<DType::f16>}, {DType::bf16, small_floats<DType::bf16>},
    {DType::f32, elements_as<float>},       {DType::f64, elements_as<double>},
    {DType::i8, elements_as<int8_t>},       {DType::i16, elements_as<int16_t>},
    {DType::i32, elements_as<int32_t>},     {DType::i64, elements_as<int64_t>},
    {DType::u8, elements_as<uint8_t>},      {DType::u16, elements_as<uint16_t>},
    {DType::u32, elements_as<uint32_t>},    {DType::u64, elements_as<uint64_t>},
};

const Conversion* find_conversion(DType to) {
  for (const Conversion& each : kConversions) {
    if (each.to == to) return &each;
  }
  return nullptr;
}

/// A number as a float type holds it.
double rounded(double value, DType to) {
  if (to == DType::f64) return value;
  if (to == DType::f32) return static_cast<float>(value);
  return Tensor::from_bytes(to, {}, find_conversion(to)->elements(Tensor::scalar(value))).number(0);
}

bool is_kept_as_integer(double value, DType to) {
  const Range range = range_of(to);
  const double limit = std::ldexp(1.0, range.digits);
  return std::trunc(value) == value && value < limit && value >= (range.has_sign ? -limit : 0);
}

bool is_kept(const Tensor& tensor, int64_t index, DType to) {
  if (is_float(tensor.dtype())) {
    const double value = tensor.number(index);
    if (!is_float(to)) return is_kept_as_integer(value, to);
    return !std::isfinite(value) || std::isfinite(rounded(value, to));
  }
  const int64_t value = tensor.integer(index);
  const bool is_huge = tensor.dtype() == DType::u64 && value < 0;  // 2^63 and more
  if (is_float(to)) {
    constexpr int64_t kExact = int64_t{1} << 53;
    const auto number = static_cast<double>(value);
    return !is_huge && value >= -kExact && value <= kExact && rounded(number, to) == number;
  }
  if (to == DType::u64) return is_huge || value >= 0;
  const Range range = range_of(to);
  if (range.digits >= 63) return !is_huge;
  const int64_t limit = int64_t{1} << range.digits;
  return !is_huge && value < limit && value >= (range.has_sign ? -limit : 0);
}

/// The first element that would change by more than rounding.
std::optional<int64_t> first_lost(const Tensor& tensor, DType to) {
  if (tensor.dtype() == DType::f64 && to == DType::f32) {
    const auto values = tensor.data<double>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i]) && !std::isfinite(static_cast<float>(values[i]))) {
        return static_cast<int64_t>(i);
      }
    }
    return std::nullopt;
  }
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (!is_kept(tensor, i, to)) return i;
  }
  return std::nullopt;
}

std::string element_text(const Tensor& tensor, int64_t index) {
  if (is_float(tensor.dtype())) return fmt::format("{}", tensor.number(index));
  const int64_t value = tensor.integer(index);
  return tensor.dtype() == DType::u64 ? fmt::format("{}", static_cast<uint64_t>(value))
                                      : fmt::format("{}", value);
}

/// What to do about an element that would change.
std::string advice(DType from, DType to) {
  if (is_float(from) && !is_float(to)) return "pass integers, such as class indices";
  if (is_float(from)) return "scale the data, or compute in a wider type";
  if (is_float(to)) return "pass floats to allow rounding";
  return "pass values in range";
}

bool can_convert(DType from, DType to) {
  return from == to || (range_of(from).digits > 0 && find_conversion(to) != nullptr);
}

}  // namespace

bool converts_exactly(DType from, DType to) {
  if (from == to) return true;
  const Range small = range_of(from), large = range_of(to);
  if (small.digits == 0 || !find_conversion(to)) return false;
  if (is_float(from) && !is_float(to)) return false;
  if (is_float(from) && (to == DType::f16 || to == DType::bf16)) return false;  // ranges differ too
  return small.digits <= large.digits && (large.has_sign || !small.has_sign);
}

std::optional<std::string> conversion_problem(const Tensor& tensor, DType to) {
  const DType from = tensor.dtype();
  if (converts_exactly(from, to)) return std::nullopt;
  if (!can_convert(from, to)) {
    return fmt::format("{} is not converted to {}: pass an array of {}", name(from), name(to),
                       name(to));
  }
  const auto lost = first_lost(tensor, to);
  if (!lost) return std::nullopt;
  return fmt::format("element {} is {}, which {} cannot represent: {}", *lost,
                     element_text(tensor, *lost), name(to), advice(from, to));
}

Tensor converted(const Tensor& tensor, DType to) {
  if (tensor.dtype() == to) return tensor;
  if (!can_convert(tensor.dtype(), to)) {
    throw Bug(fmt::format("{} does not convert to {}", name(tensor.dtype()), name(to)));
  }
  return Tensor::from_bytes(to, tensor.dims(), find_conversion(to)->elements(tensor));
}

Tensor with_fitting_rank(const Tensor& array, const Type& type) {
  if (!type.shape || array.dtype() == DType::string) return array;
  std::vector<int64_t> dims = array.dims();
  if (dims.size() + 1 == type.shape->size() && type.shape->back().value == 1) {
    dims.push_back(1);
  } else if (dims.size() == type.shape->size() + 1 && dims.back() == 1) {
    dims.pop_back();
  } else {
    return array;
  }
  return Tensor::view(array.dtype(), std::move(dims), array.bytes(),
                      std::make_shared<const Tensor>(array));
}

Tensor fitted(const Tensor& array, const Type& type) {
  if (!type.is_tensor() || type.dtype == DType::undefined) return array;
  const Tensor ranked = with_fitting_rank(array, type);
  Type given = ranked.type();
  given.dtype = type.dtype;
  if (const auto reason = conflict(type, given)) {
    throw Error(
        fmt::format("{} does not fit {}: {}", to_string(array.type()), to_string(type), *reason));
  }
  if (const auto problem = conversion_problem(ranked, type.dtype)) throw Error(*problem);
  return converted(ranked, type.dtype);
}

}  // namespace onward
