#pragma once

#include <cstdint>

namespace onward {

/// The smallest and the largest of some elements, and whether all of them are finite: if not, the
/// two say nothing.
template <typename T>
struct RowRange {
  T low, high;
  bool finite;
};

/// Loops over the channels of one place, which lie side by side; compiled for the machine at hand
/// like the tile functions.
template <typename T>
struct RowFunctions {
  /// best = max(best, row), where NaN is the largest.
  void (*max)(T* best, const T* row, int64_t n);
  /// The same, noting the tap where the row wins.
  void (*max_with_tap)(T* best, uint8_t* chosen, const T* row, uint8_t tap, int64_t n);
  /// to = from where the tap was chosen, else zero; or added to it.
  void (*set_where_tap)(T* to, const T* from, const uint8_t* chosen, uint8_t tap, int64_t n);
  void (*add_where_tap)(T* to, const T* from, const uint8_t* chosen, uint8_t tap, int64_t n);
  /// sum += row
  void (*add)(T* sum, const T* row, int64_t n);
  /// sum += row * factor
  void (*add_scaled)(T* sum, const T* row, T factor, int64_t n);
  RowRange<T> (*range)(const T* row, int64_t n);
};

template <typename T>
const RowFunctions<T>& row_functions();

}  // namespace onward
