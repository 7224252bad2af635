#pragma once

// What an LSTM computes with the gates of one example at one step; compiled for the machine at hand
// like the tile functions.

#include <cstdint>

namespace onward {

template <typename T>
struct LstmRows {
  /// Activates the gates i, o, f, g in place, n numbers each; gives the new c and h.
  void (*step)(T* gates, const T* before, T* c, T* h, int64_t n);
  /// The gradient with respect to the gates before they were activated. `dc` is that of the new c
  /// and becomes that of the one before.
  void (*back)(const T* activated, const T* before, const T* c, const T* dh, T* dc, T* dgates,
               int64_t n);
  /// y += x
  void (*add)(const T* x, T* y, int64_t n);
};

template <typename T>
const LstmRows<T>& lstm_rows();

}  // namespace onward
