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

/// One row or column of a product: y = alpha sum_i factors_i rows_i + beta y, with whatever is not
/// finite in it.
template <typename T>
struct SumOfRows {
  const T* factors;
  int64_t factor_step;
  const T* rows;
  int64_t row_step, element_step;
  int64_t count, size;  // of rows, and of each
  T* y;
  int64_t y_step;

  void run(T alpha, T beta) const {
    for (int64_t j = 0; j < size; ++j) y[j * y_step] = beta == 0 ? T(0) : beta * y[j * y_step];
    for (int64_t i = 0; i < count; ++i) {
      const T factor = alpha * factors[i * factor_step];
      const T* row = rows + i * row_step;
      if (y_step == 1 && element_step == 1) {
        for (int64_t j = 0; j < size; ++j) y[j] += factor * row[j];
      } else {
        for (int64_t j = 0; j < size; ++j) y[j * y_step] += factor * row[j * element_step];
      }
    }
  }
};

/// The part of a product that one thread makes: rows and columns of the whole matrices, whose
/// elements are `..._row` and `..._column` apart.
template <typename T>
struct Part {
  const Product& whole;
  int64_t m, n;
  const T *a, *b;
  T* y;
  int64_t a_row = whole.trans_a ? 1 : whole.k, a_column = whole.trans_a ? whole.m : 1;
  int64_t b_row = whole.trans_b ? 1 : whole.n, b_column = whole.trans_b ? whole.k : 1;
  T alpha = static_cast<T>(whole.alpha), beta = static_cast<T>(whole.beta);

  void row(int64_t i) const {
    const SumOfRows<T> sum{a + i * a_row,   a_column, b, b_row, b_column, whole.k, n,
                           y + i * whole.n, 1};
    sum.run(alpha, beta);
  }

  void column(int64_t j) const {
    const SumOfRows<T> sum{b + j * b_column, b_row, a, a_column, a_row, whole.k, m, y + j, whole.n};
    sum.run(alpha, beta);
  }

  /// BLIS leaves out rows whose factor is 0, and with them a NaN or an infinity there: in products
  /// of vectors, and in a last column that its blocks do not hold where the left matrix is
  /// transposed. Those are made here.
  template <typename Gemm>
  void run(Gemm gemm) const {
    if (whole.k == 1 || (m == 1 && !whole.trans_b)) {
      for (int64_t i = 0; i < m; ++i) row(i);
      return;
    }
    const bool has_odd_column = whole.trans_a && n % 2 == 1;
    if (has_odd_column) column(n - 1);
    const int64_t columns = n - (has_odd_column ? 1 : 0);
    if (columns == 0) return;
    gemm(CblasRowMajor, whole.trans_a ? CblasTrans : CblasNoTrans,
         whole.trans_b ? CblasTrans : CblasNoTrans, static_cast<int>(m), static_cast<int>(columns),
         static_cast<int>(whole.k), alpha, a, static_cast<int>(whole.trans_a ? whole.m : whole.k),
         b, static_cast<int>(whole.trans_b ? whole.k : whole.n), beta, y,
         static_cast<int>(whole.n));
  }
};

/// Rows (or columns) of the result are dealt out to our own threads, in whole vectors, and BLIS
/// runs in one thread each: its own threads wait for each other in loops, which is no faster, and
/// very slow where the machine has other work.
template <typename T, typename Gemm>
void multiply_by_blis(const Product& p, const T* a, const T* b, T* y, Gemm gemm) {
  constexpr int64_t kPiece = 8;
  const bool by_rows = p.m >= p.n || p.m >= 2 * kPiece * threads();
  const int64_t all = by_rows ? p.m : p.n, other = by_rows ? p.n : p.m;
  const double each = product_cost(2.0 * static_cast<double>(kPiece * other * p.k));
  parallel_for((all + kPiece - 1) / kPiece, each, [&](int64_t first, int64_t last) {
    const int64_t from = first * kPiece, size = std::min(last * kPiece, all) - from;
    if (size <= 0) return;
    const int64_t row = by_rows ? from : 0, column = by_rows ? 0 : from;
    const Part<T> part{p,
                       by_rows ? size : p.m,
                       by_rows ? p.n : size,
                       a + row * (p.trans_a ? 1 : p.k),
                       b + column * (p.trans_b ? p.k : 1),
                       y + row * p.n + column};
    part.run(gemm);
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
