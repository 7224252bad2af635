#pragma once

// Loops over rows of n numbers that lie side by side, as normalization needs them: each place of a
// row has its own mean, factor and shift. Compiled for the machine at hand like the tile functions.

#include <cstdint>

namespace onward {

/// y = (x - mean) * factor + shift, for each place of a row.
template <typename T>
struct Affine {
  const T *mean, *factor, *shift;
};

/// dx = dy * factor + (x - mean) * slope + offset, for each place of a row.
template <typename T>
struct WayBack {
  const T *slope, *offset;
};

template <typename T>
struct NormRows {
  using Apply = void (*)(const T* x, T* y, const Affine<T>& affine, int64_t rows, int64_t n);
  using AddProducts = void (*)(T* sum, T* product, const T* dy, const T* x, const Affine<T>& affine,
                               int64_t rows, int64_t n);
  using Back = void (*)(const T* dy, const T* x, T* dx, const Affine<T>& affine,
                        const WayBack<T>& back, int64_t rows, int64_t n);

  /// sum += x, over all rows.
  void (*add)(T* sum, const T* x, int64_t rows, int64_t n);
  /// sum += x - center, squares += (x - center)^2
  void (*add_differences)(T* sum, T* squares, const T* x, const T* center, int64_t rows, int64_t n);
  /// The second of each pair is for a Relu that follows: y is cut off at zero, and dy counts only
  /// where y is positive, which x tells.
  Apply apply[2];
  /// sum += dy, product += dy * (x - mean)
  AddProducts add_products[2];
  Back back[2];

  // One row as a whole.
  T (*row_sum)(const T* x, int64_t n);
  T (*row_squares)(const T* x, T mean, int64_t n);
  /// y = (x - mean) * inverse * scale + shift, where there is a shift.
  void (*row_normalize)(const T* x, T* y, T mean, T inverse, const T* scale, const T* shift,
                        int64_t n);
  /// Sums of g and g * xhat with g = dy * scale and xhat = (x - mean) * inverse; adds dy * xhat and
  /// dy to dscale and dshift.
  struct RowSums {
    T g, g_xhat;
  };
  RowSums (*row_products)(const T* dy, const T* x, T mean, T inverse, const T* scale, T* dscale,
                          T* dshift, int64_t n);
  /// dx = inverse * (dy * scale - mean_g - xhat * mean_g_xhat)
  void (*row_back)(const T* dy, const T* x, T* dx, T mean, T inverse, const T* scale, RowSums means,
                   int64_t n);
};

template <typename T>
const NormRows<T>& norm_rows();

}  // namespace onward
