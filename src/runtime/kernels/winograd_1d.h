#pragma once

// The transforms of F(2,3) and F(4,3) in one dimension, on eight channels at a time. Included by
// files alone that are compiled for AVX2.

#include <cstdint>

namespace onward::winograd {

using Vector = float __attribute__((vector_size(32)));

/// Two results of three taps by four products. Points 0, 1, -1 and infinity.
struct F2 {
  static constexpr int kOut = 2, kIn = 4;

  /// B^T x
  static void input(const Vector* x, Vector* v) {
    v[0] = x[0] - x[2];
    v[1] = x[1] + x[2];
    v[2] = x[2] - x[1];
    v[3] = x[1] - x[3];
  }
  /// A^T m
  static void result(const Vector* m, Vector* y) {
    y[0] = m[0] + m[1] + m[2];
    y[1] = m[1] - m[2] - m[3];
  }
  /// A dy
  static void gradient(const Vector* dy, Vector* u) {
    u[0] = dy[0];
    u[1] = dy[0] + dy[1];
    u[2] = dy[0] - dy[1];
    u[3] = -dy[1];
  }
  /// G w
  static void weights(const Vector* w, Vector* u) {
    const Vector even = 0.5F * (w[0] + w[2]), odd = 0.5F * w[1];
    u[0] = w[0];
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = w[2];
  }
  /// G^T m
  static void gradient_of_weights(const Vector* m, Vector* dw) {
    const Vector even = 0.5F * (m[1] + m[2]);
    dw[0] = m[0] + even;
    dw[1] = 0.5F * (m[1] - m[2]);
    dw[2] = even + m[3];
  }
};

/// Four results of three taps by six products. The points 0, +-5/8, +-3/2 and infinity have 0.4
/// times the error of the usual 0, +-1, +-2 (measured over pairs of eighths).
struct F4 {
  static constexpr int kOut = 4, kIn = 6;

  static constexpr float kA = 0.625F, kB = 1.5F;
  static constexpr float kA2 = kA * kA, kB2 = kB * kB, kA3 = kA2 * kA, kB3 = kB2 * kB;
  // What a polynomial that is zero at the other points has at each: 0, +-a, +-b.
  static constexpr float kAt0 = kA2 * kB2, kAtA = 2 * kA2 * (kA2 - kB2),
                         kAtB = 2 * kB2 * (kB2 - kA2);

  static void input(const Vector* x, Vector* v) {
    v[0] = kAt0 * x[0] - (kA2 + kB2) * x[2] + x[4];
    const Vector even_a = x[4] - kB2 * x[2], odd_a = x[3] - kB2 * x[1];
    v[1] = even_a + kA * odd_a;
    v[2] = even_a - kA * odd_a;
    const Vector even_b = x[4] - kA2 * x[2], odd_b = x[3] - kA2 * x[1];
    v[3] = even_b + kB * odd_b;
    v[4] = even_b - kB * odd_b;
    v[5] = kAt0 * x[1] - (kA2 + kB2) * x[3] + x[5];
  }
  static void result(const Vector* m, Vector* y) {
    const Vector even_a = m[1] + m[2], odd_a = m[1] - m[2];
    const Vector even_b = m[3] + m[4], odd_b = m[3] - m[4];
    y[0] = m[0] + even_a + even_b;
    y[1] = kA * odd_a + kB * odd_b;
    y[2] = kA2 * even_a + kB2 * even_b;
    y[3] = kA3 * odd_a + m[5] + kB3 * odd_b;
  }
  static void gradient(const Vector* dy, Vector* u) {
    const Vector even_a = dy[0] + kA2 * dy[2], odd_a = kA * dy[1] + kA3 * dy[3];
    const Vector even_b = dy[0] + kB2 * dy[2], odd_b = kB * dy[1] + kB3 * dy[3];
    u[0] = dy[0];
    u[1] = even_a + odd_a;
    u[2] = even_a - odd_a;
    u[3] = even_b + odd_b;
    u[4] = even_b - odd_b;
    u[5] = dy[3];
  }
  static void weights(const Vector* w, Vector* u) {
    const Vector even_a = (1 / kAtA) * w[0] + (kA2 / kAtA) * w[2], odd_a = (kA / kAtA) * w[1];
    const Vector even_b = (1 / kAtB) * w[0] + (kB2 / kAtB) * w[2], odd_b = (kB / kAtB) * w[1];
    u[0] = (1 / kAt0) * w[0];
    u[1] = even_a + odd_a;
    u[2] = even_a - odd_a;
    u[3] = even_b + odd_b;
    u[4] = even_b - odd_b;
    u[5] = w[2];
  }
  static void gradient_of_weights(const Vector* m, Vector* dw) {
    const Vector even_a = m[1] + m[2], odd_a = m[1] - m[2];
    const Vector even_b = m[3] + m[4], odd_b = m[3] - m[4];
    dw[0] = (1 / kAt0) * m[0] + (1 / kAtA) * even_a + (1 / kAtB) * even_b;
    dw[1] = (kA / kAtA) * odd_a + (kB / kAtB) * odd_b;
    dw[2] = (kA2 / kAtA) * even_a + (kB2 / kAtB) * even_b + m[5];
  }
};

}  // namespace onward::winograd
