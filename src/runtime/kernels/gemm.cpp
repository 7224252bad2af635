// oneDNN or BLIS, by what was measured on this kind of machine with two threads. oneDNN notices
// where it is called by one thread of a team.

#include "runtime/kernels/gemm.h"

#include <cblas.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>

#include "runtime/parallel.h"

namespace onward {
namespace {

/// True where nothing is left to do: an empty sum.
template <typename T>
bool is_trivial(const Product& p, T* y) {
  if (p.m == 0 || p.n == 0) return true;
  if (p.k == 0 && p.beta == 0) std::fill_n(y, p.m * p.n, T(0));
  return p.k == 0;
}

/// Nanoseconds of one thread; one of a team is on its own anyway.
double cost(const Product& p) {
  constexpr double kMuch = 1e9;
  return p.in_team ? kMuch : product_cost(2.0 * static_cast<double>(p.m * p.n * p.k));
}

/// Rows (or columns) of the result are dealt out to our own threads, in whole vectors, and BLIS
/// runs in one thread each: its own threads wait for each other in loops, which is no faster, and
/// very slow where the machine has other work.
template <typename T, typename Gemm>
void multiply_by_blis(const Product& p, const T* a, const T* b, T* y, Gemm gemm) {
  constexpr int64_t kPiece = 8;
  const bool by_rows = p.m >= p.n || p.m >= 2 * kPiece * threads();
  const int64_t all = by_rows ? p.m : p.n, other = by_rows ? p.n : p.m;
  const auto lda = static_cast<int>(p.trans_a ? p.m : p.k);
  const auto ldb = static_cast<int>(p.trans_b ? p.k : p.n);
  const double each = product_cost(2.0 * static_cast<double>(kPiece * other * p.k));
  parallel_for((all + kPiece - 1) / kPiece, each, [&](int64_t first, int64_t last) {
    const int64_t from = first * kPiece, size = std::min(last * kPiece, all) - from;
    if (size <= 0) return;
    const int64_t row = by_rows ? from : 0, column = by_rows ? 0 : from;
    gemm(CblasRowMajor, p.trans_a ? CblasTrans : CblasNoTrans,
         p.trans_b ? CblasTrans : CblasNoTrans, static_cast<int>(by_rows ? size : p.m),
         static_cast<int>(by_rows ? p.n : size), static_cast<int>(p.k), static_cast<T>(p.alpha),
         a + row * (p.trans_a ? 1 : p.k), lda, b + column * (p.trans_b ? p.k : 1), ldb,
         static_cast<T>(p.beta), y + row * p.n + column, static_cast<int>(p.n));
  });
}

}  // namespace

/// BLIS is faster where nothing is read transposed. oneDNN reads transposed matrices faster (by a
/// tenth to a half), unless a transposed left one gives a tall result (where BLIS is twice as
/// fast), or a transposed right one meets many rows.
bool Product::by_onednn() const {
  if (in_team) return true;
  if (trans_a) return m < n || (m < 2 * n && k < 256);
  return trans_b && m < 1024;
}

void Product::run(const float* a, const float* b, float* y) const {
  if (is_trivial(*this, y)) return;
  if (!by_onednn()) return multiply_by_blis(*this, a, b, y, cblas_sgemm);
  const LibraryThreads threads(cost(*this));
  dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, static_cast<float>(alpha), a,
             trans_a ? m : k, b, trans_b ? k : n, static_cast<float>(beta), y, n);
}

void Product::run(const double* a, const double* b, double* y) const {
  if (is_trivial(*this, y)) return;
  multiply_by_blis(*this, a, b, y, cblas_dgemm);
}

}  // namespace onward
