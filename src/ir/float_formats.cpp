#include "ir/float_formats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "onward/error.h"

namespace onward {
namespace {

/// How a small float spends its bits, and what its largest exponent means.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum Special : uint8_t {
    ieee,            // the largest exponent holds infinity (mantissa 0) and NaN
    nan_all_ones,    // only the pattern of all ones is NaN, there is no infinity
    nan_minus_zero,  // only "-0" is NaN, there is no infinity
    finite,          // every pattern is a number
  } special;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {5, 10, 15, Format::ieee};
    case DType::bf16:
      return {8, 7, 127, Format::ieee};
    case DType::f8e4m3fn:
      return {4, 3, 7, Format::nan_all_ones};
    case DType::f8e4m3fnuz:
      return {4, 3, 8, Format::nan_minus_zero};
    case DType::f8e5m2:
      return {5, 2, 15, Format::ieee};
    case DType::f8e5m2fnuz:
      return {5, 2, 16, Format::nan_minus_zero};
    case DType::f6e2m3:
      return {2, 3, 1, Format::finite};
    case DType::f6e3m2:
      return {3, 2, 3, Format::finite};
    case DType::f4e2m1:
      return {2, 1, 1, Format::finite};
    default:
      throw Bug("not a small float: " + std::string(name(dtype)));
  }
}

/// f8e8m0 holds powers of two alone; the nearest, ties upward.
uint32_t encode_power_of_two(double value, Overflow overflow) {
  constexpr uint32_t kNaN = 0xff;
  constexpr int kBias = 127;
  if (std::isnan(value)) return kNaN;
  if (value <= 0) return 0;
  if (std::isinf(value)) return overflow == Overflow::saturate ? kNaN - 1 : kNaN;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  const int nearest = exponent - 1 + (fraction >= 0.75 ? 1 : 0) + kBias;
  if (nearest >= static_cast<int>(kNaN)) return overflow == Overflow::saturate ? kNaN - 1 : kNaN;
  return nearest < 0 ? 0 : static_cast<uint32_t>(nearest);
}

}  // namespace

float decode_small_float(DType dtype, uint32_t bits) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if (dtype == DType::f8e8m0) {  // a power of two without sign or mantissa
    return bits == 0xff ? kNaN : std::ldexp(1.0F, static_cast<int>(bits) - 127);
  }
  const Format f = format_of(dtype);
  const uint32_t mantissa = bits & ((1U << f.mantissa_bits) - 1);
  const uint32_t exponent = (bits >> f.mantissa_bits) & ((1U << f.exponent_bits) - 1);
  const bool negative = (bits >> (f.mantissa_bits + f.exponent_bits)) & 1U;
  const bool largest_exponent = exponent == (1U << f.exponent_bits) - 1;
  const float sign = negative ? -1.0F : 1.0F;

  if (f.special == Format::ieee && largest_exponent) {
    return mantissa ? kNaN : sign * std::numeric_limits<float>::infinity();
  }
  if (f.special == Format::nan_all_ones && largest_exponent &&
      mantissa == (1U << f.mantissa_bits) - 1) {
    return kNaN;
  }
  if (f.special == Format::nan_minus_zero && negative && exponent == 0 && mantissa == 0) {
    return kNaN;
  }
  if (exponent == 0) {  // subnormal
    return sign * std::ldexp(static_cast<float>(mantissa), 1 - f.bias - f.mantissa_bits);
  }
  const uint32_t significand = mantissa | (1U << f.mantissa_bits);
  return sign * std::ldexp(static_cast<float>(significand),
                           static_cast<int>(exponent) - f.bias - f.mantissa_bits);
}

uint32_t encode_small_float(DType dtype, double value, Overflow overflow) {
  if (dtype == DType::f8e8m0) return encode_power_of_two(value, overflow);
  const Format f = format_of(dtype);
  const uint32_t sign = std::signbit(value) ? 1U << (f.exponent_bits + f.mantissa_bits) : 0;
  const uint32_t all_ones = (1U << (f.exponent_bits + f.mantissa_bits)) - 1;
  const uint32_t infinity = all_ones & ~((1U << f.mantissa_bits) - 1);
  const uint32_t nan = f.special == Format::nan_minus_zero ? all_ones + 1
                       : f.special == Format::ieee ? infinity | (1U << (f.mantissa_bits - 1))
                                                   : all_ones;
  const uint32_t largest = f.special == Format::ieee           ? infinity - 1
                           : f.special == Format::nan_all_ones ? all_ones - 1
                                                               : all_ones;
  if (std::isnan(value)) {
    if (f.special == Format::finite) return all_ones + 1;  // -0: the type has no NaN
    return f.special == Format::nan_minus_zero ? nan : sign | nan;
  }
  const auto too_large = [&]() -> uint32_t {
    if (f.special == Format::finite || overflow == Overflow::saturate) return sign | largest;
    if (f.special == Format::ieee) return sign | infinity;
    return f.special == Format::nan_minus_zero ? nan : sign | nan;
  };
  if (std::isinf(value)) {
    const bool keeps_infinity = f.special == Format::ieee && bits(dtype) == 16;
    return keeps_infinity ? sign | infinity : too_large();
  }
  const double magnitude = std::fabs(value);
  const bool no_minus_zero = f.special == Format::nan_minus_zero;
  if (magnitude == 0) return no_minus_zero ? 0 : sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - f.bias);
  double significand = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  if (significand >= static_cast<double>(2U << f.mantissa_bits)) {
    ++exponent;
    significand /= 2;
  }
  const auto units = static_cast<uint32_t>(significand);
  if (units == 0) return no_minus_zero ? 0 : sign;
  const bool normal = units >= (1U << f.mantissa_bits);
  const int64_t field = normal ? exponent + f.bias : 0;
  const uint64_t pattern =
      (static_cast<uint64_t>(field) << f.mantissa_bits) | (units & ((1U << f.mantissa_bits) - 1));
  if (pattern > largest) return too_large();
  return sign | static_cast<uint32_t>(pattern);
}

}  // namespace onward
