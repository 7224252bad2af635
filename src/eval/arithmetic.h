#pragma once

// Arithmetic of which the language leaves cases undefined: integers that overflow, floats that fit
// no integer. Here all of them have a result, the same as on other runtimes.

#include <cstdint>
#include <limits>
#include <type_traits>

namespace onward::eval {

/// The type in which numbers are added and multiplied: integers that overflow wrap.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

template <typename T>
T plus(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <typename T>
T minus(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
}
template <typename T>
T times(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

/// A float as the signed integer type I: the fraction is cut off; NaN and what does not fit become
/// the lowest integer.
template <typename I>
I truncated(double number) {
  constexpr double kLowest = static_cast<double>(std::numeric_limits<I>::lowest());
  // -lowest is exact where the largest integer is none that a double has. A fraction above the
  // lowest one is cut off too.
  if (number > kLowest - 1 && number < -kLowest) return static_cast<I>(number);
  return std::numeric_limits<I>::lowest();
}

/// A float as the integer type I, as ONNX Runtime, PyTorch and NumPy have it on x86-64: small types
/// take the low bits of an int32_t, uint32_t those of an int64_t; a uint64_t wraps below zero.
template <typename I>
I to_integer(double number) {
  if constexpr (std::is_same_v<I, uint64_t>) {
    constexpr double kHalf = 0x1p63;
    const bool large = number >= kHalf;
    const auto low = static_cast<uint64_t>(truncated<int64_t>(large ? number - kHalf : number));
    return large ? low ^ (uint64_t{1} << 63) : low;
  } else if constexpr (std::is_same_v<I, int64_t> || std::is_same_v<I, uint32_t>) {
    return static_cast<I>(truncated<int64_t>(number));
  } else {
    return static_cast<I>(truncated<int32_t>(number));
  }
}

}  // namespace onward::eval
