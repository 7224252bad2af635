#pragma once

#include <cstdint>

namespace onward {

/// y = alpha op(a) op(b) + beta y, all row-major: m x k times k x n. In all threads, unless it is
/// called by one thread of a team.
struct Product {
  bool trans_a = false, trans_b = false;
  int64_t m = 0, n = 0, k = 0;
  double alpha = 1, beta = 0;
  bool in_team = false;

  /// Whether oneDNN or BLIS multiplies; oneDNN knows only float32.
  bool by_onednn() const;

  void run(const float* a, const float* b, float* y) const;
  void run(const double* a, const double* b, double* y) const;
};

}  // namespace onward
