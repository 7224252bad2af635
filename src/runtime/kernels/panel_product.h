#pragma once

#include <cstdint>

namespace onward {

/// A panel: 16 columns of a matrix side by side, as wide as two vectors of AVX2 or one of AVX-512.
inline constexpr int64_t kPanel = 16;

inline int64_t panels_of(int64_t columns) { return (columns + kPanel - 1) / kPanel; }

/// Which instructions multiply; the bits are the same.
enum class PanelIsa : uint8_t { avx2, avx512 };
PanelIsa fastest_panel_isa();

/// y (+)= a b, where a is rows x k with any steps between its numbers, b lies in panels of k x 16,
/// and y has all columns of the panels. Columns are a multiple of 16. Only for machines with AVX2.
struct PanelProduct {
  int64_t rows, k, columns;
  int64_t a_row, a_k;  // steps, in floats
  int64_t b_panel;     // from one panel to the next
  int64_t y_row;
  bool add = false;
  /// A sum of so many products at a time is added to what there is: most of the error of a long sum
  /// comes of small products that are added to a large sum.
  int64_t chunk = 64;

  /// So many rows are computed together; products of other numbers of rows take a little longer.
  static int64_t rows_at_once(PanelIsa isa = fastest_panel_isa());
  /// Each sum is made by one thread in the order of k.
  void run(const float* a, const float* b, float* y, PanelIsa isa = fastest_panel_isa()) const;
};

}  // namespace onward
