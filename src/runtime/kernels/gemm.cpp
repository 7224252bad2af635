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

/// One thread of a team is on its own anyway.
double cost(const Product& p) {
  constexpr double kMuch = 1e9;
  return p.in_team ? kMuch : product_cost(2.0 * static_cast<double>(p.m * p.n * p.k));
}

struct Blas {
  CBLAS_TRANSPOSE trans_a, trans_b;
  int m, n, k, lda, ldb;

  explicit Blas(const Product& p)
      : trans_a(p.trans_a ? CblasTrans : CblasNoTrans),
        trans_b(p.trans_b ? CblasTrans : CblasNoTrans),
        m(static_cast<int>(p.m)),
        n(static_cast<int>(p.n)),
        k(static_cast<int>(p.k)),
        lda(p.trans_a ? m : k),
        ldb(p.trans_b ? k : n) {}
};

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
  const Blas blas(*this);
  const LibraryThreads threads(cost(*this));
  const auto scale = static_cast<float>(alpha), keep = static_cast<float>(beta);
  if (by_onednn()) {
    dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, scale, a, blas.lda, b, blas.ldb,
               keep, y, n);
    return;
  }
  cblas_sgemm(CblasRowMajor, blas.trans_a, blas.trans_b, blas.m, blas.n, blas.k, scale, a, blas.lda,
              b, blas.ldb, keep, y, blas.n);
}

void Product::run(const double* a, const double* b, double* y) const {
  if (is_trivial(*this, y)) return;
  const Blas blas(*this);
  const LibraryThreads threads(cost(*this));
  cblas_dgemm(CblasRowMajor, blas.trans_a, blas.trans_b, blas.m, blas.n, blas.k, alpha, a, blas.lda,
              b, blas.ldb, beta, y, blas.n);
}

}  // namespace onward
