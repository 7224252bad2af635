#pragma once

// Elementwise functions, each written once: `apply<Math>` computes one element. The reference
// kernels take Math from the standard library; the tiles of the runtime take polynomials for
// float32 that a compiler turns into vector instructions (runtime/vector_math.inc).
//
// All that is called here is a template of Math or the library's: tiles are compiled for several
// machines, and the linker must not take one machine's code for another's.

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

#include "eval/arithmetic.h"
#include "onward/error.h"

namespace onward::elementwise {

/// The float attributes of a node, in the order of the table's row.
using Attributes = std::array<double, 2>;

struct Unary {};
struct Binary {};
struct Comparison : Binary {};  // gives a truth value

/// Integers are computed with as unsigned ones, which wrap where signed ones are undefined.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;

// ---- of one operand

struct Identity : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return x;
  }
};
struct Neg : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(-static_cast<uint64_t>(x));
    } else {
      return -x;
    }
  }
};
struct Abs : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(x);  // of -0 too
    } else if constexpr (std::is_unsigned_v<T>) {
      return x;
    } else {
      return x < T(0) ? Neg::apply<Math>(x) : x;
    }
  }
};
struct Sign : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return x != x ? x : static_cast<T>((x > T(0)) - (x < T(0)));
  }
};
struct Relu : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return x < T(0) ? T(0) : x;  // keeps NaN
  }
};
struct LeakyRelu : Unary {
  template <typename Math, typename T>
  static T apply(T x, Attributes alpha) {
    return x < T(0) ? static_cast<T>(alpha[0]) * x : x;
  }
};
struct Shrink : Unary {
  // x + bias below -lambd, x - bias above lambd, 0 between them.
  template <typename Math, typename T>
  static T apply(T x, Attributes bias_and_lambd) {
    const auto [bias, lambd] = bias_and_lambd;
    if constexpr (std::is_floating_point_v<T>) {
      const T b = static_cast<T>(bias), limit = static_cast<T>(lambd);
      return x < -limit ? x + b : x > limit ? x - b : T(0);
    } else {
      const auto number = static_cast<double>(x);
      return number < -lambd ? moved(x, bias) : number > lambd ? moved(x, -bias) : T(0);
    }
  }

 private:
  /// An integer and a number added up, and the fraction cut off. All bits of large ones count.
  template <typename T>
  static T moved(T x, double by) {
    if (std::trunc(by) == by && std::fabs(by) < 0x1p63) {
      return static_cast<T>(static_cast<uint64_t>(x) +
                            static_cast<uint64_t>(static_cast<int64_t>(by)));
    }
    return eval::to_integer<T>(static_cast<double>(x) + by);
  }
};
struct Ceil : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::ceil(x);
  }
};
struct Floor : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::floor(x);
  }
};
struct Round : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::nearbyint(x);  // halves go to the even neighbour
  }
};
struct Sqrt : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::sqrt(x);
  }
};
struct Reciprocal : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return T(1) / x;
  }
};
struct Exp : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return Math::exp(x);
  }
};
struct Log : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::log(x);
  }
};
struct Tanh : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return Math::tanh(x);
  }
};
struct Sin : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::sin(x);
  }
};
struct Cos : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::cos(x);
  }
};
struct Tan : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::tan(x);
  }
};
struct Asin : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::asin(x);
  }
};
struct Acos : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::acos(x);
  }
};
struct Atan : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::atan(x);
  }
};
struct Sinh : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::sinh(x);
  }
};
struct Cosh : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::cosh(x);
  }
};
struct Asinh : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::asinh(x);
  }
};
struct Acosh : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::acosh(x);
  }
};
struct Atanh : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return std::atanh(x);
  }
};
struct Erf : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return Math::erf(x);
  }
};
struct Softplus : Unary {
  // log(1 + e^x), without the overflow of e^x.
  template <typename Math, typename T>
  static T apply(T x) {
    return (x > T(0) ? x : T(0)) + std::log1p(std::exp(-std::fabs(x)));
  }
};
struct Sigmoid : Unary {
  // The exponent is never positive, so that nothing overflows.
  template <typename Math, typename T>
  static T apply(T x) {
    const T e = Math::exp(-std::fabs(x));
    return x >= T(0) ? T(1) / (T(1) + e) : e / (T(1) + e);
  }
};
struct Gelu : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    return T(0.5) * x * (T(1) + Math::erf(x / std::numbers::sqrt2_v<T>));
  }
};
struct GeluByTanh : Unary {
  template <typename Math, typename T>
  static T apply(T x) {
    constexpr T kRoot = static_cast<T>(0.79788456080286535588);  // of 2 / pi
    const T inner = kRoot * (x + static_cast<T>(0.044715) * x * x * x);
    return T(0.5) * x * (T(1) + Math::tanh(inner));
  }
};
struct Not : Unary {
  template <typename Math>
  static uint8_t apply(uint8_t x) {
    return !x;
  }
};

// ---- of two operands

struct Add : Binary {
  template <typename Math, typename T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Sub : Binary {
  template <typename Math, typename T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};
struct Mul : Binary {
  template <typename Math, typename T>
  static T apply(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};
struct Div : Binary {
  template <typename Math, typename T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == T(0)) throw Error("an integer is divided by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return Neg::apply<Math>(a);  // the lowest has no negative
      }
    }
    return static_cast<T>(a / b);
  }
};
struct Pow : Binary {
  template <typename Math, typename T>
  static T apply(T a, T b) {
    return std::pow(a, b);
  }
};
// NaN wins, as in NumPy.
struct Max : Binary {
  template <typename Math, typename T>
  static T apply(T a, T b) {
    return a != a || a > b ? a : b;
  }
};
struct Min : Binary {
  template <typename Math, typename T>
  static T apply(T a, T b) {
    return a != a || a < b ? a : b;
  }
};
struct PRelu : Binary {
  template <typename Math, typename T>
  static T apply(T x, T slope) {
    return x < T(0) ? Mul::apply<Math>(slope, x) : x;
  }
};
struct Equal : Comparison {
  template <typename Math, typename T>
  static uint8_t apply(T a, T b) {
    return a == b;
  }
};
struct Less : Comparison {
  template <typename Math, typename T>
  static uint8_t apply(T a, T b) {
    return a < b;
  }
};
struct Greater : Comparison {
  template <typename Math, typename T>
  static uint8_t apply(T a, T b) {
    return a > b;
  }
};
struct LessOrEqual : Comparison {
  template <typename Math, typename T>
  static uint8_t apply(T a, T b) {
    return a <= b;
  }
};
struct GreaterOrEqual : Comparison {
  template <typename Math, typename T>
  static uint8_t apply(T a, T b) {
    return a >= b;
  }
};
struct And : Binary {
  template <typename Math>
  static uint8_t apply(uint8_t a, uint8_t b) {
    return a && b;
  }
};
struct Or : Binary {
  template <typename Math>
  static uint8_t apply(uint8_t a, uint8_t b) {
    return a || b;
  }
};
struct Xor : Binary {
  template <typename Math>
  static uint8_t apply(uint8_t a, uint8_t b) {
    return !a != !b;
  }
};

}  // namespace onward::elementwise
