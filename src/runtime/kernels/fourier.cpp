// Discrete Fourier transforms, line by line: steps of radix p for each prime factor of the length,
// which sort as they go (Stockham). Complex float32 numbers that become such are transformed in
// float32, as in eval/. All else is in double: two lines of real float32 numbers of like size go as
// one of complex doubles, which takes as long.

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "runtime/kernel.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

template <typename R>
struct Complex {
  R re = 0, im = 0;

  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

/// The prime factors of a length, the smallest first.
std::vector<int64_t> prime_factors(int64_t length) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; p * p <= length; ++p) {
    for (; length % p == 0; length /= p) primes.push_back(p);
  }
  if (length > 1) primes.push_back(length);
  return primes;
}

/// Transforms of one length n = p1 p2 ..., in numbers of R: a step takes p numbers that are n/p
/// apart.
template <typename R>
class Transform {
 public:
  using Number = Complex<R>;

  Transform(int64_t length, bool inverse) : length_(length), primes_(prime_factors(length)) {
    const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(length);
    for (int64_t i = 0; i < length; ++i) {
      const double angle = turn * static_cast<double>(i);
      roots_.push_back({static_cast<R>(std::cos(angle)), static_cast<R>(std::sin(angle))});
    }
  }

  int64_t length() const { return length_; }
  /// Products of one line, roughly.
  double work() const {
    return static_cast<double>(length_) *
           static_cast<double>(std::accumulate(primes_.begin(), primes_.end(), int64_t{1}));
  }

  /// Leaves the result in one of the two buffers, and returns it.
  Number* run(Number* x, Number* y) const {
    int64_t n = length_, blocks = 1;  // a block of numbers for each of the n places that are left
    for (const int64_t p : primes_) {
      if (p == 2) {
        halve(n, blocks, x, y);
      } else {
        divide(p, n, blocks, x, y);
      }
      n /= p;
      blocks *= p;
      std::swap(x, y);
    }
    return x;
  }

 private:
  /// The root of n to a power, of n that divides the length.
  Number root(int64_t n, int64_t power) const {
    return roots_[static_cast<size_t>(power % n * (length_ / n))];
  }

  void halve(int64_t n, int64_t blocks, const Number* x, Number* y) const {
    const int64_t half = n / 2;
    for (int64_t k = 0; k < half; ++k) {
      const Number w = root(n, k);
      const Number *a = x + blocks * k, *b = a + blocks * half;
      Number *sum = y + 2 * blocks * k, *difference = sum + blocks;
      for (int64_t i = 0; i < blocks; ++i) {
        sum[i] = a[i] + b[i];
        difference[i] = (a[i] - b[i]) * w;
      }
    }
  }

  void divide(int64_t p, int64_t n, int64_t blocks, const Number* x, Number* y) const {
    const int64_t part = n / p;
    for (int64_t k = 0; k < part; ++k) {
      for (int64_t j = 0; j < p; ++j) {
        Number* to = y + blocks * (p * k + j);
        std::fill(to, to + blocks, Number{});
        for (int64_t r = 0; r < p; ++r) {
          const Number w = root(p, r * j);
          const Number* from = x + blocks * (k + part * r);
          for (int64_t i = 0; i < blocks; ++i) to[i] = to[i] + from[i] * w;
        }
        if (j * k == 0) continue;
        const Number w = root(n, j * k);
        for (int64_t i = 0; i < blocks; ++i) to[i] = to[i] * w;
      }
    }
  }

  int64_t length_;
  std::vector<Number> roots_;
  std::vector<int64_t> primes_;
};

/// A DFT of lines: how they lie in x and in y.
struct Lines {
  int64_t outer, inner;  // dimensions before and behind the axis
  int64_t size, parts;   // of x along the axis, and of its numbers
  int64_t results, result_parts;
  int64_t given;  // numbers that are read
  bool from_half;
  double scale;
};

template <typename T, typename R>
struct LineTransform {
  using Number = Complex<R>;

  const Transform<R>& transform;
  const Lines& lines;
  const T* x;
  T* y;

  std::pair<int64_t, int64_t> place(int64_t line, int64_t size, int64_t parts) const {
    return {(line / lines.inner * size * lines.inner + line % lines.inner) * parts,
            lines.inner * parts};
  }

  void write(int64_t line, int64_t k, Number result) const {
    const auto [first, step] = place(line, lines.results, lines.result_parts);
    T* to = y + first + k * step;
    const auto scale = static_cast<R>(lines.scale);
    to[0] = static_cast<T>(result.re * scale);
    if (lines.result_parts == 2) to[1] = static_cast<T>(result.im * scale);
  }

  void one(int64_t line, Number* a, Number* b) const {
    const int64_t length = transform.length();
    const auto [first, step] = place(line, lines.size, lines.parts);
    for (int64_t n = 0; n < lines.given; ++n) {
      const T* from = x + first + n * step;
      a[n] = {static_cast<R>(from[0]), lines.parts == 2 ? static_cast<R>(from[1]) : 0};
    }
    std::fill(a + lines.given, a + length, Number{});
    if (lines.from_half) mirror(a, length);
    const Number* z = transform.run(a, b);
    for (int64_t k = 0; k < lines.results; ++k) write(line, k, z[k]);
  }

  /// Two lines of real numbers as the parts of one: what of the result is symmetric is the first's.
  void two(int64_t line, Number* a, Number* b) const {
    const int64_t length = transform.length();
    const auto [first, step] = place(line, lines.size, 1);
    const int64_t second = place(line + 1, lines.size, 1).first;
    Number largest;
    bool finite = true;
    for (int64_t n = 0; n < lines.given; ++n) {
      a[n] = {static_cast<R>(x[first + n * step]), static_cast<R>(x[second + n * step])};
      finite = finite && std::isfinite(a[n].re) && std::isfinite(a[n].im);
      largest = {std::max(largest.re, std::abs(a[n].re)), std::max(largest.im, std::abs(a[n].im))};
    }
    // Rounding errors of one reach the other, and so would a NaN.
    constexpr R kMaxRatio = 1e6;
    const bool are_alike =
        largest.re <= kMaxRatio * largest.im && largest.im <= kMaxRatio * largest.re;
    if (!finite || !are_alike) {
      one(line, a, b);
      return one(line + 1, a, b);
    }
    std::fill(a + lines.given, a + length, Number{});
    const Number* z = transform.run(a, b);
    for (int64_t k = 0; k < lines.results; ++k) {
      const Number p = z[k], q = z[k == 0 ? 0 : length - k];
      write(line, k, {(p.re + q.re) / 2, (p.im - q.im) / 2});
      write(line + 1, k, {(p.im + q.im) / 2, (q.re - p.re) / 2});
    }
  }

  /// The other half of the spectrum of real numbers: the conjugates.
  static void mirror(Number* a, int64_t length) {
    a[0].im = 0;
    if (length % 2 == 0) a[length / 2].im = 0;
    for (int64_t k = 1; k < length - k; ++k) a[length - k] = {a[k].re, -a[k].im};
  }
};

Reason refuses_dft(const Node& node) {
  const DType dtype = node.output(0)->type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  for (const size_t input : {1U, 2U}) {
    const Value* value = node.input(input);
    if (value && (!value->tensor() || value->is_input())) return "its axis or length is computed";
  }
  if (checked_element_count(*static_dims(*node.output(0))) == 0) return "no elements";
  return {};
}

template <typename T, typename R>
void plan_lines(Site& site, const Lines& lines, int64_t length, bool inverse) {
  const SlotIndex x = site.input(0), y = site.output(0);
  site.action([=, transform = Transform<R>(length, inverse)](const Run& run) {
    const LineTransform<T, R> work{transform, lines, run.at<const T>(x), run.at<T>(y)};
    const bool in_pairs = std::is_same_v<T, float> && lines.parts == 1 && !lines.from_half;
    const int64_t step = in_pairs ? 2 : 1, count = lines.outer * lines.inner;
    parallel_for((count + step - 1) / step, 2 * transform.work(), [&](int64_t first, int64_t last) {
      std::vector<Complex<R>> a(static_cast<size_t>(transform.length())), b(a.size());
      for (int64_t i = first; i < last; ++i) {
        if (in_pairs && 2 * i + 1 < count) {
          work.two(2 * i, a.data(), b.data());
        } else {
          work.one(step * i, a.data(), b.data());
        }
      }
    });
  });
}

/// Longer sums than those of this prime are not left to float32.
constexpr int64_t kMaxNarrowPrime = 13;

template <typename T>
void make_dft_of(Site& site) {
  const Node& node = site.node();
  for (const size_t input : {1U, 2U}) {  // a state, which only the site knows
    if (site.has_input(input) && !site.constant(input)) return make_reference(site);
  }
  const auto x_dims = site.input_dims(0), y_dims = site.output_dims(0);
  const bool inverse = node.int_or("inverse", 0) != 0, onesided = node.int_or("onesided", 0) != 0;
  const auto rank = static_cast<int64_t>(x_dims.size());
  const int64_t given_axis = node.input(2) ? node.input(2)->tensor()->integer(0) : -2;
  const auto axis = static_cast<size_t>(given_axis < 0 ? given_axis + rank : given_axis);
  const bool from_half = inverse && onesided;
  const int64_t size = x_dims[axis];
  const int64_t length = node.input(1) ? node.input(1)->tensor()->integer(0)
                         : from_half   ? 2 * (size - 1)
                                       : size;
  const std::span<const int64_t> all(x_dims);
  const Lines lines{.outer = checked_element_count(all.first(axis)),
                    .inner = checked_element_count(all.subspan(axis + 1, all.size() - axis - 2)),
                    .size = size,
                    .parts = x_dims.back(),
                    .results = y_dims[axis],
                    .result_parts = y_dims.back(),
                    .given = std::min(size, from_half ? length / 2 + 1 : length),
                    .from_half = from_half,
                    .scale = inverse ? 1 / static_cast<double>(length) : 1};
  const bool among_complex = lines.parts == 2 && lines.result_parts == 2;
  const auto primes = prime_factors(length);
  if (among_complex && (primes.empty() || primes.back() <= kMaxNarrowPrime)) {
    return plan_lines<T, T>(site, lines, length, inverse);
  }
  plan_lines<T, double>(site, lines, length, inverse);
}

void make_dft(Site& site) {
  if (site.dtype() == DType::f32) return make_dft_of<float>(site);
  make_dft_of<double>(site);
}

constexpr KernelChoice kFourierChoices[] = {{"DFT", "fast transform", refuses_dft, make_dft}};

}  // namespace

std::span<const KernelChoice> fourier_choices() { return kFourierChoices; }

}  // namespace onward
