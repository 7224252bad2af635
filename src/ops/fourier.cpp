// DFT: y[k] = sum over n of x[n] exp(-2 pi i k n / L), of real or complex numbers (the last
// dimension), along an axis that is an input. STFT: the same of frames of a signal.

#include <numbers>

#include "ir/rewrite.h"
#include "ops/families.h"

namespace onward {
namespace {

Expr remainder(Expr a, Expr b) { return a.builder().add("Mod", values({a, b}), a.dtype()); }
Expr product_of(Expr sizes) {
  return sizes.builder().add("ReduceProd", {sizes.value()}, DType::i64);
}

/// What a DFT node says, for rules and the expansion; numbers are i64 vectors of one.
class Transform {
 public:
  Transform(const Node& node, Builder& b)
      : inverse_(node.int_or("inverse", 0) != 0),
        onesided_(node.int_or("onesided", 0) != 0),
        has_length_(node.input(1) != nullptr),
        x_(b.expr(node.input(0))),
        axis_(axis_of(node, b)),
        size_(gather(shape_of(x_), axis_, 0)),
        length_(length_of(node, b)) {}

  bool inverse() const { return inverse_; }
  bool onesided() const { return onesided_; }
  /// From half a spectrum to real numbers.
  bool gives_reals() const { return inverse_ && onesided_; }
  bool gives_half() const { return !inverse_ && onesided_; }
  /// Whether elements of the axis may be left out, or be too few.
  bool has_length() const { return has_length_; }

  Expr x() const { return x_; }
  Expr axis() const { return axis_; }      // not negative
  Expr size() const { return size_; }      // of x along the axis
  Expr length() const { return length_; }  // of the transform
  Expr half() const { return length_ / two() + x_.builder().integers({1}); }
  Expr parts() const { return dim_of(x_, -1); }  // 1 of a real number, 2 of a complex one

 private:
  static Expr axis_of(const Node& node, Builder& b) {
    const Expr rank = rank_of(b.expr(node.input(0)));
    if (!node.input(2)) return rank - b.integers({2});
    const Expr axis = reshape(b.expr(node.input(2)), b.integers({1}));
    return where(less(axis, b.integers({0})), axis + rank, axis);
  }

  Expr length_of(const Node& node, Builder& b) const {
    if (node.input(1)) return cast(reshape(b.expr(node.input(1)), b.integers({1})), DType::i64);
    return gives_reals() ? (size_ - b.integers({1})) * two() : size_;
  }

  Expr two() const { return x_.builder().integers({2}); }

  bool inverse_, onesided_, has_length_;
  Expr x_, axis_, size_, length_;
};

/// How often a frequency of half a spectrum is in the whole one: the first, and the last of an even
/// length, once; those beyond never.
Expr multiplicity(Expr frequency, Expr length, DType dtype) {
  Builder& b = frequency.builder();
  const Expr doubled = frequency * b.integers({2}), zero = b.integers({0});
  const auto number = [&](double value) { return b.scalar(value, dtype); };
  const Expr is_own = equal(remainder(doubled, length), zero);
  return where(greater(doubled, length), number(0), where(is_own, number(1), number(2)));
}

/// The matrix [n, part of x, k, part of y] of the transform.
Expr matrix_of(const Transform& t, DType dtype) {
  Builder& b = t.x().builder();
  const Expr n = unsqueeze(numbers_below(t.size()), b.integers({1}));
  const Expr k = numbers_below(t.gives_half() ? t.half() : t.length());
  // Whole turns are taken off as integers, so that large angles lose nothing.
  const Expr turn = cast(remainder(n * k, t.length()), DType::f64) / cast(t.length(), DType::f64);
  const Expr angle = turn * (2 * std::numbers::pi);
  const auto function = [&](const char* op) {
    Expr y = b.add(op, {angle.value()}, DType::f64);
    if (t.inverse()) y = y / cast(t.length(), DType::f64);
    if (t.gives_reals()) return y * multiplicity(n, t.length(), DType::f64);
    return t.has_length() ? where(less(n, t.length()), y, b.scalar(0, DType::f64)) : y;
  };
  const Expr cosine = function("Cos"), sine = function("Sin");
  const Expr forth = t.inverse() ? -sine : sine, back = t.inverse() ? sine : -sine;
  const Expr last = b.integers({-1});
  const auto column = [&](Expr of_real, Expr of_imaginary) {
    return unsqueeze(
        concat({unsqueeze(of_real, b.integers({1})), unsqueeze(of_imaginary, b.integers({1}))}, 1),
        last);
  };
  const Expr real = column(cosine, forth);
  const Expr all = t.gives_reals() ? real : concat({real, column(back, cosine)}, 3);
  const Expr parts = slice(all, b.integers({0}), t.parts(), b.integers({1}));
  return cast(parts, dtype);
}

std::vector<Expr> dft_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Transform t(c.node(), b);
  const Expr x = t.x(), shape = shape_of(x), first = b.integers({0}), one = b.integers({1});
  const Expr before = slice(shape, first, t.axis(), first);
  const Expr behind = slice(shape, t.axis() + one, b.integers({-1}), first);
  const Expr outer = product_of(before), inner = product_of(behind);
  const Expr matrix = matrix_of(t, wide_type(x.dtype()));
  // The axis and the parts of its numbers are the rows of a matrix.
  const Expr lines =
      transpose(reshape(x, concat({outer, t.size(), inner, t.parts()}, 0)), {0, 2, 1, 3});
  const Expr rows =
      reshape(cast(lines, wide_type(x.dtype())), concat({outer * inner, t.size() * t.parts()}, 0));
  const Expr taps = shape_of(matrix);
  const Expr count = gather(taps, b.integers({2}), 0), parts = gather(taps, b.integers({3}), 0);
  const Expr y = matmul(rows, reshape(matrix, concat({t.size() * t.parts(), count * parts}, 0)));
  const Expr sorted = transpose(reshape(y, concat({outer, inner, count, parts}, 0)), {0, 2, 1, 3});
  return {cast(reshape(sorted, concat({before, count, behind, parts}, 0)), x.dtype())};
}

/// A number for each element of the axis, for products with tensors of x's rank.
Expr along_axis(const Transform& t, Expr numbers) {
  Builder& b = numbers.builder();
  const Expr dims = numbers_below(rank_of(t.x()));
  return reshape(numbers, where(equal(dims, t.axis()), b.integers({-1}), b.integers({1})));
}

/// Cut or padded with zeros to the size of x along the axis, and to its parts.
Expr fitted(const Transform& t, Expr dx) {
  Builder& b = dx.builder();
  const Expr zero = b.integers({0});
  dx = slice(dx, zero, t.parts(), b.integers({-1}));
  if (!t.has_length()) return dx;
  dx = slice(dx, zero, t.size(), t.axis());
  const Expr missing = t.size() - gather(shape_of(dx), t.axis(), 0);
  return b.add("Pad", {dx.value(), concat({zero, missing}, 0).value(), nullptr, t.axis().value()},
               dx.dtype());
}

// The transposed matrix is that of the transform back, without its mean (or with it). Half a
// spectrum is one whose other half has no gradient.
Grads dft_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  const Transform t(c.node(), b);
  const Expr dy = c.grad(0);
  const Expr scalar_length = squeeze(t.length(), b.integers({0}));
  const Expr scalar_axis = squeeze(t.axis(), b.integers({0}));
  const Expr back = b.add(
      "DFT", values({dy, scalar_length, scalar_axis}), dy.dtype(),
      {{"inverse", int64_t{t.inverse() ? 0 : 1}}, {"onesided", int64_t{t.gives_reals() ? 1 : 0}}});
  const Expr length = cast(scalar_length, dy.dtype());
  Expr dx = t.inverse() ? back / length : back * length;
  if (t.gives_reals()) {
    dx = dx * along_axis(t, multiplicity(numbers_below(t.half()), t.length(), dy.dtype()));
  }
  return {fitted(t, dx)};
}

/// The signal as [batch, time, parts]. The standard asks for that form; real numbers come as
/// [batch, time] too, in files of those who go by what runtimes take.
Expr with_parts(Expr signal, const Value& value) {
  Builder& b = signal.builder();
  const auto known = rank(&value);
  if (known) return *known == 2 ? unsqueeze(signal, b.integers({2})) : signal;
  const auto part = [&](Expr dims, int64_t from, int64_t to) {
    return slice(dims, b.integers({from}), b.integers({to}), b.integers({0}));
  };
  const Expr shape = shape_of(signal), one = b.integers({1});
  const Expr parts = part(concat({shape, one}, 0), 2, 3);
  return reshape(signal, concat({part(shape, 0, 2), parts}, 0));
}

/// Frames of the signal [batch, time, parts], times the window.
std::vector<Expr> stft_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = with_parts(c.input(0), *c.node().input(0)), one = b.integers({1});
  const auto number = [&](size_t input) { return cast(reshape(c.input(input), one), DType::i64); };
  const Expr step = number(1), length = c.has_input(3) ? number(3) : shape_of(c.input(2));
  const Expr count = (dim_of(x, 1) - length) / step + one;
  const Expr starts = unsqueeze(numbers_below(count) * step, one);
  Expr frames = gather(x, starts + numbers_below(length), 1);
  if (c.has_input(2)) frames = frames * unsqueeze(c.input(2), one);
  return {b.add("DFT", {frames.value(), nullptr, b.scalar(2, DType::i64).value()}, x.dtype(),
                {{"onesided", c.node().int_or("onesided", 1)}})};
}

const OpDef kFourierOps[] = {
    {.name = "DFT",
     .vjp = dft_vjp,
     .expansion = dft_expansion,
     .inputs = {In::data, In::shape, In::index}},
    {.name = "STFT",
     .expansion = stft_expansion,
     .inputs = {In::data, In::shape, In::data, In::shape}},
};

}  // namespace

std::span<const OpDef> fourier_ops() { return kFourierOps; }

}  // namespace onward
