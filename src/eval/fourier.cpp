#include <complex>
#include <numbers>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;
template <typename R>
using Numbers = std::vector<std::complex<R>>;

int64_t smallest_prime(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

int64_t largest_prime(int64_t n) {
  int64_t p = smallest_prime(n);
  for (; p < n; p = smallest_prime(n)) n /= p;
  return p;
}

/// Transforms of one length, in numbers of R. Of a length p m, with p the largest prime, it joins
/// the p transforms of every p-th number: as many steps as the sum of all primes, times the length.
template <typename R>
class Fourier {
 public:
  using Complex = std::complex<R>;

  Fourier(int64_t length, bool inverse) : length_(length) {
    const int64_t dims[] = {length};
    roots_.resize(static_cast<size_t>(checked_list_size(dims, sizeof(Complex))));
    const double turn = (inverse ? 2 : -2) * std::numbers::pi;
    for (int64_t i = 0; i < length; ++i) {
      roots_[static_cast<size_t>(i)] =
          Complex(std::polar(1.0, turn * static_cast<double>(i) / static_cast<double>(length)));
    }
  }

  Numbers<R> operator()(const Numbers<R>& x) const {
    Numbers<R> y(x.size());
    transform(x.data(), 1, length_, y.data());
    return y;
  }

 private:
  const Complex& root(int64_t n, int64_t power) const {
    return roots_[static_cast<size_t>(power % n * (length_ / n))];
  }

  void transform(const Complex* x, int64_t step, int64_t n, Complex* y) const {
    if (n == 1) {
      *y = *x;
      return;
    }
    const int64_t p = largest_prime(n), m = n / p;
    for (int64_t r = 0; r < p; ++r) transform(x + r * step, step * p, m, y + r * m);
    Numbers<R> parts(static_cast<size_t>(p));
    for (int64_t k = 0; k < m; ++k) {
      parts[0] = y[k];
      for (int64_t r = 1; r < p; ++r) parts[static_cast<size_t>(r)] = y[r * m + k] * root(n, r * k);
      for (int64_t q = 0; q < p; ++q) {
        Complex sum = parts[0];
        for (int64_t r = 1; r < p; ++r) sum += parts[static_cast<size_t>(r)] * root(p, r * q);
        y[q * m + k] = sum;
      }
    }
  }

  int64_t length_;
  Numbers<R> roots_;
};

/// The other half of the spectrum of real numbers: the conjugates. Of the first frequency, and of
/// the middle one of an even length, only the real part counts.
template <typename R>
void mirror(Numbers<R>& x) {
  const size_t length = x.size();
  x[0] = x[0].real();
  if (length % 2 == 0) x[length / 2] = x[length / 2].real();
  for (size_t k = 1; k < length - k; ++k) x[length - k] = std::conj(x[k]);
}

/// The transform of a node whose numbers are of T, computed in numbers of R.
template <typename T, typename R>
Tensors dft_in(const Context& c, const Array<T>& x, Array<T> y, int64_t axis, int64_t length) {
  const bool inverse = c.node().int_or("inverse", 0) != 0;
  const bool onesided = c.node().int_or("onesided", 0) != 0;
  const auto at = static_cast<size_t>(axis);
  const int64_t size = x.dims[at], parts = x.dims.back();
  const std::span<const int64_t> all(y.dims);
  const int64_t outer = checked_element_count(all.first(at));
  const int64_t inner = checked_element_count(all.subspan(at + 1, all.size() - at - 2));
  const int64_t given = std::min(size, onesided && inverse ? length / 2 + 1 : length);
  const Fourier<R> transform(length, inverse);
  const auto scale = static_cast<R>(inverse ? 1 / static_cast<double>(length) : 1);
  for (int64_t line = 0; line < outer * inner; ++line) {
    const int64_t o = line / inner, i = line % inner;
    Numbers<R> numbers(static_cast<size_t>(length));
    for (int64_t n = 0; n < given; ++n) {
      const int64_t from = ((o * size + n) * inner + i) * parts;
      numbers[static_cast<size_t>(n)] = {static_cast<R>(x[from]),
                                         static_cast<R>(parts == 2 ? x[from + 1] : 0)};
    }
    if (onesided && inverse) mirror(numbers);
    const Numbers<R> results = transform(numbers);
    for (int64_t k = 0; k < y.dims[at]; ++k) {
      const std::complex<R>& result = results[static_cast<size_t>(k)];
      const int64_t to = ((o * y.dims[at] + k) * inner + i) * y.dims.back();
      y[to] = static_cast<T>(result.real() * scale);
      if (y.dims.back() == 2) y[to + 1] = static_cast<T>(result.imag() * scale);
    }
  }
  return {to_tensor(y, c.input(0).dtype())};
}

/// Longer sums than those of this prime are not left to float32.
constexpr int64_t kMaxNarrowPrime = 13;

/// Complex numbers that become such are transformed in their own type, as it is usual; real numbers
/// of float32, and large primes, in double.
Tensors dft(const Context& c) {
  return compute_as_float(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    const bool inverse = c.node().int_or("inverse", 0) != 0;
    const bool onesided = c.node().int_or("onesided", 0) != 0;
    const int64_t axis = checked_axis(c.has(2) ? c.scalar<int64_t>(2) : -2, x.rank());
    const auto at = static_cast<size_t>(axis);
    const int64_t own = inverse && onesided ? 2 * (x.dims[at] - 1) : x.dims[at];
    const int64_t length = c.has(1) ? c.scalar<int64_t>(1) : own;
    std::vector<int64_t> dims = x.dims;
    dims[at] = onesided && !inverse ? length / 2 + 1 : length;
    dims.back() = onesided && inverse ? 1 : 2;
    const bool among_complex = x.dims.back() == 2 && dims.back() == 2;
    Array<T> y(dims);
    if (among_complex && largest_prime(length) <= kMaxNarrowPrime) {
      return dft_in<T, T>(c, x, std::move(y), axis, length);
    }
    return dft_in<T, double>(c, x, std::move(y), axis, length);
  });
}

constexpr KernelDef kFourierKernels[] = {{"DFT", dft}};

}  // namespace

std::span<const KernelDef> fourier_kernels() { return kFourierKernels; }

}  // namespace onward::eval
