#include "eval/narrow_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/float_formats.h"

namespace onward::eval {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The largest number of a type that has a sign.
double largest_of(DType dtype) {
  return decode_small_float(dtype, encode_small_float(dtype, kInfinity, Overflow::saturate));
}

/// float8e8m0 has the powers of two from 2^-127 to 2^127 alone, and NaN: neither zero nor negative
/// numbers, which become the smallest.
double power_of_two(double x, const std::string& round_mode, bool saturates) {
  const double smallest = std::ldexp(1.0, -127), largest = std::ldexp(1.0, 127);
  if (std::isnan(x)) return x;
  if (x <= 0) return saturates ? smallest : kNaN;
  if (std::isinf(x)) return saturates ? largest : kNaN;
  const double below = std::ldexp(1.0, std::ilogb(x));
  const bool goes_up =
      x > below && (round_mode == "up" || (round_mode == "nearest" && x >= 1.5 * below));
  const double power = goes_up ? 2 * below : below;
  if (power >= smallest && power <= largest) return power;
  return saturates ? std::clamp(power, smallest, largest) : kNaN;
}

}  // namespace

Tensor cast_to_narrow_float(const Node& node, const Tensor& from, DType to) {
  const bool saturates = node.int_or("saturate", 1) != 0;
  const std::string round_mode = node.string_or("round_mode", "up");
  Array<double> x = to_array<double>(from);
  if (to == DType::f8e8m0) {
    for (double& each : x.data) each = power_of_two(each, round_mode, saturates);
  } else if (saturates) {
    const double largest = largest_of(to);
    for (double& each : x.data) {
      if (!std::isnan(each)) each = std::clamp(each, -largest, largest);
    }
  }
  return to_tensor(x, to);
}

}  // namespace onward::eval
