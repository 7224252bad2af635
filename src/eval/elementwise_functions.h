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

}  // namespace onward::elementwise
