// What spectra are weighted with: windows of cosines, and the triangles of the mel scale. All of it
// is computed in float64, whatever it is asked for in: the body that the standard gives the windows
// has constants of float32.

#include <cmath>
#include <numbers>

#include "ops/families.h"

namespace onward {
namespace {

/// The numbers 0, 1 ... below a count, which is a scalar.
Expr counted_to(Expr count) {
  return numbers_below(unsqueeze(count, count.builder().integers({0})));
}

DType wanted_type(const Node& node) {
  return static_cast<DType>(node.int_or("output_datatype", static_cast<int64_t>(DType::f32)));
}

Expr cosine(Expr x) { return x.builder().add("Cos", {x.value()}, x.dtype()); }
Expr rounded_down(Expr x) { return x.builder().add("Floor", {x.value()}, x.dtype()); }

/// y[n] = a - b cos(2 pi n / N) + c cos(4 pi n / N), where N is the size, or one less for a window
/// that is the same from both ends.
struct CosineWindow {
  double a, b, c;
};

Expr window_of(const ExpandContext& c, const CosineWindow& of) {
  const Expr size = cast(c.input(0), DType::i64);
  const bool periodic = c.node().int_or("periodic", 1) == 1;
  const Expr length = cast(periodic ? size : size - 1, DType::f64);
  const Expr angle = cast(counted_to(size), DType::f64) * (2 * std::numbers::pi) / length;
  Expr y = of.a - of.b * cosine(angle);
  if (of.c != 0) y = y + of.c * cosine(angle * 2);
  return cast(y, wanted_type(c.node()));
}

std::vector<Expr> hann_window(const ExpandContext& c) { return {window_of(c, {0.5, 0.5, 0})}; }
std::vector<Expr> hamming_window(const ExpandContext& c) {
  return {window_of(c, {25.0 / 46, 21.0 / 46, 0})};
}
std::vector<Expr> blackman_window(const ExpandContext& c) {
  return {window_of(c, {0.42, 0.5, 0.08})};
}

/// mel(f) = 2595 log10(1 + f / 700)
Expr mel_of(Expr hertz) { return log(hertz / 700 + 1) * (2595 / std::numbers::ln10); }
Expr hertz_of(Expr mel) { return (exp(mel * (std::numbers::ln10 / 2595)) - 1) * 700; }

// A column has a triangle over the bins from `lower` over `center`, where it is 1, to `upper`.
// Corners are at equal steps of the mel scale, rounded down to bins. Where `lower` and `center` are
// one bin, it has 1 there; what is beyond the last bin is cut off.
std::vector<Expr> mel_weight_matrix(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr bands = cast(c.input(0), DType::i64), length = cast(c.input(1), DType::i64);
  const Expr low = mel_of(cast(c.input(3), DType::f64)),
             high = mel_of(cast(c.input(4), DType::f64));
  const Expr corners = bands + 2;
  const Expr mels =
      cast(counted_to(corners), DType::f64) * ((high - low) / cast(corners, DType::f64)) + low;
  const Expr bins =
      rounded_down(cast(length + 1, DType::f64) * hertz_of(mels) / cast(c.input(2), DType::f64));
  const auto corner = [&](int64_t first) {
    const Expr start = b.integers({first}), axis = b.integers({0});
    return slice(bins, start, start + reshape(bands, b.integers({1})), axis);
  };
  const Expr lower = corner(0), center = corner(1), upper = corner(2);
  const Expr half = counted_to(length / b.scalar(2, DType::i64) + 1);
  const Expr bin = unsqueeze(cast(half, DType::f64), b.integers({1}));
  const Expr one = b.scalar(1, DType::f64), zero = b.scalar(0, DType::f64);
  const Expr rises = logical_and(greater_or_equal(bin, lower), greater_or_equal(center, bin));
  const Expr falls = logical_and(greater_or_equal(bin, center), less(bin, upper));
  const Expr rise = where(equal(lower, center), one, (bin - lower) / (center - lower));
  const Expr y = where(falls, (upper - bin) / (upper - center), where(rises, rise, zero));
  return {cast(y, wanted_type(c.node()))};
}

constexpr std::string_view kSizes = "its result depends on a size alone";
constexpr std::string_view kBins = "its edges are rounded to bins";

const OpDef kSignalOps[] = {
    {.name = "BlackmanWindow",
     .expansion = blackman_window,
     .inputs = {In::shape},
     .no_gradient = kSizes},
    {.name = "HammingWindow",
     .expansion = hamming_window,
     .inputs = {In::shape},
     .no_gradient = kSizes},
    {.name = "HannWindow", .expansion = hann_window, .inputs = {In::shape}, .no_gradient = kSizes},
    {.name = "MelWeightMatrix",
     .expansion = mel_weight_matrix,
     .inputs = {In::shape, In::shape, In::setting},
     .no_gradient = kBins},
};

}  // namespace

std::span<const OpDef> signal_ops() { return kSignalOps; }

}  // namespace onward
