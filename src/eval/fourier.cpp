#include <complex>
#include <numbers>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;
using Complex = std::complex<double>;
using Numbers = std::vector<Complex>;

/// Transforms of one length. Of a length p m, with p the smallest prime, it joins the p transforms
/// of every p-th number: as many steps as the sum of all primes, times the length.
class Fourier {
 public:
  Fourier(int64_t length, bool inverse) : length_(length) {
    const int64_t dims[] = {length};
    roots_.resize(static_cast<size_t>(checked_list_size(dims, sizeof(Complex))));
    const double turn = (inverse ? 2 : -2) * std::numbers::pi;
    for (int64_t i = 0; i < length; ++i) {
      roots_[static_cast<size_t>(i)] =
          std::polar(1.0, turn * static_cast<double>(i) / static_cast<double>(length));
    }
  }

  Numbers operator()(const Numbers& x) const {
    Numbers y(x.size());
    transform(x.data(), 1, length_, y.data());
    return y;
  }

 private:
  static int64_t smallest_prime(int64_t n) {
    for (int64_t p = 2; p * p <= n; ++p) {
      if (n % p == 0) return p;
    }
    return n;
  }

  const Complex& root(int64_t n, int64_t power) const {
    return roots_[static_cast<size_t>(power % n * (length_ / n))];
  }

  void transform(const Complex* x, int64_t step, int64_t n, Complex* y) const {
    if (n == 1) {
      *y = *x;
      return;
    }
    const int64_t p = smallest_prime(n), m = n / p;
    for (int64_t r = 0; r < p; ++r) transform(x + r * step, step * p, m, y + r * m);
    Numbers parts(static_cast<size_t>(p));
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t r = 0; r < p; ++r) parts[static_cast<size_t>(r)] = y[r * m + k];
      for (int64_t q = 0; q < p; ++q) {
        Complex sum = parts[0];
        for (int64_t r = 1; r < p; ++r) {
          sum += parts[static_cast<size_t>(r)] * root(n, r * (k + q * m));
        }
        y[q * m + k] = sum;
      }
    }
  }

  int64_t length_;
  Numbers roots_;
};

/// The other half of the spectrum of real numbers: the conjugates. Of the first frequency, and of
/// the middle one of an even length, only the real part counts.
void mirror(Numbers& x) {
  const size_t length = x.size();
  x[0] = x[0].real();
  if (length % 2 == 0) x[length / 2] = x[length / 2].real();
  for (size_t k = 1; k < length - k; ++k) x[length - k] = std::conj(x[k]);
}

Tensors dft(const Context& c) {
  const Array<double> x = c.array<double>(0);
  const bool inverse = c.node().int_or("inverse", 0) != 0;
  const bool onesided = c.node().int_or("onesided", 0) != 0;
  const int64_t axis = checked_axis(c.has(2) ? c.scalar<int64_t>(2) : -2, x.rank());
  const auto at = static_cast<size_t>(axis);
  const int64_t size = x.dims[at], parts = x.dims.back();
  const int64_t own = inverse && onesided ? 2 * (size - 1) : size;
  const int64_t length = c.has(1) ? c.scalar<int64_t>(1) : own;
  std::vector<int64_t> dims = x.dims;
  dims[at] = onesided && !inverse ? length / 2 + 1 : length;
  dims.back() = onesided && inverse ? 1 : 2;
  Array<double> y(dims);

  const std::span<const int64_t> all(dims);
  const int64_t outer = checked_element_count(all.first(at));
  const int64_t inner = checked_element_count(all.subspan(at + 1, all.size() - at - 2));
  const int64_t given = std::min(size, onesided && inverse ? length / 2 + 1 : length);
  const Fourier transform(length, inverse);
  const double scale = inverse ? 1 / static_cast<double>(length) : 1;
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t o = line / inner, i = line % inner;
    Numbers numbers(static_cast<size_t>(length));
    for (int64_t n = 0; n < given; ++n) {
      const int64_t from = ((o * size + n) * inner + i) * parts;
      numbers[static_cast<size_t>(n)] = {x[from], parts == 2 ? x[from + 1] : 0};
    }
    if (onesided && inverse) mirror(numbers);
    const Numbers results = transform(numbers);
    for (int64_t k = 0; k < dims[at]; ++k) {
      const Complex& result = results[static_cast<size_t>(k)];
      const int64_t to = ((o * dims[at] + k) * inner + i) * dims.back();
      y[to] = result.real() * scale;
      if (dims.back() == 2) y[to + 1] = result.imag() * scale;
    }
  }
  return {to_tensor(y, c.input(0).dtype())};
}

constexpr KernelDef kFourierKernels[] = {{"DFT", dft}};

}  // namespace

std::span<const KernelDef> fourier_kernels() { return kFourierKernels; }

}  // namespace onward::eval
