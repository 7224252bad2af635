// Quantized tensors: q = saturate(round(x / scale) + zero point), and x is about
// (q - zero point) * scale. A scale is one for the whole tensor, for each place along an axis, or
// for each block along an axis.
//
// Rounding has no slope. For the backward it counts as the identity within the range that q can
// have, and as constant beyond (the straight-through estimator, as of torch.fake_quantize*): the
// gradient with respect to a tensor of integers is one of floats.

#include "ops/quantization.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"
#include "ops/families.h"

namespace onward {
namespace {

struct QuantizedType {
  DType dtype;
  QuantizedRange range;
};

constexpr QuantizedType kQuantizedTypes[] = {
    {DType::i2, {-2, 1, true}},
    {DType::u2, {0, 3, true}},
    {DType::i4, {-8, 7, true}},
    {DType::u4, {0, 15, true}},
    {DType::i8, {-128, 127, true}},
    {DType::u8, {0, 255, true}},
    {DType::i16, {-32768, 32767, true}},
    {DType::u16, {0, 65535, true}},
    {DType::f4e2m1, {-6, 6, false}},
    {DType::f6e2m3, {-7.5, 7.5, false}},
    {DType::f6e3m2, {-28, 28, false}},
    {DType::f8e4m3fn, {-448, 448, false}},
    {DType::f8e4m3fnuz, {-240, 240, false}},
    {DType::f8e5m2, {-57344, 57344, false}},
    {DType::f8e5m2fnuz, {-57344, 57344, false}},
};

int64_t rank_of_operand(const Value* value) {
  if (const auto known = rank(value)) return *known;
  throw Error(fmt::format("the rank of '{}' must be known", value->name()));
}

bool is_one_number(const Value* value) {
  const auto& shape = value->type.shape;
  return shape && element_count(*shape) == 1;
}

/// How the scales of a node go with the elements of x.
class Granularity {
 public:
  Granularity(const Node& node, Expr x, Expr scale)
      : x_(x), scale_(scale), axis_(node.int_or("axis", 1)), block_(node.int_or("block_size", 0)) {
    if (rank_of_operand(scale.value()) == 0 || is_one_number(scale.value())) {
      kind_ = Kind::tensor;
    } else {
      kind_ = block_ == 0 ? Kind::axis : Kind::block;
    }
  }

  /// Scales or zero points in a shape that broadcasts against x.
  Expr spread(Expr value) const {
    switch (kind_) {
      case Kind::tensor:
        return reshape(value, value.builder().integers({}));
      case Kind::axis:
        return reshape(value, spread_shape());
      case Kind::block:
        return gather(value, blocks(), axis_);
    }
    throw Bug("no such granularity");
  }

  /// The sum over the elements that have each scale, in the shape of the scales.
  Expr sum(Expr x) const {
    const Expr shape = shape_of(scale_);
    switch (kind_) {
      case Kind::tensor:
        return reshape(sum_to(x, x.builder().integers({})), shape);
      case Kind::axis:
        return reshape(sum_to(x, spread_shape()), shape);
      case Kind::block:
        return x.builder().add_internal("GatherGrad", values({x, blocks(), shape}), x.dtype(),
                                        {{"axis", axis_}});
    }
    throw Bug("no such granularity");
  }

 private:
  enum class Kind : uint8_t { tensor, axis, block };

  /// [n, 1, 1]: the dimensions before the axis are broadcast anyway.
  Expr spread_shape() const {
    Builder& b = x_.builder();
    const Expr behind = axis_ < 0
                            ? b.integers(std::vector<int64_t>(static_cast<size_t>(-axis_ - 1), 1))
                            : expand(b.integers({1}), rank_of(x_) - static_cast<double>(axis_ + 1));
    return concat({shape_of(scale_), behind}, 0);
  }

  /// The block of each place along the axis: 0, 0, 1, 1 ...
  Expr blocks() const { return numbers_below(dim_of(x_, axis_)) / static_cast<double>(block_); }

  Expr x_, scale_;
  int64_t axis_, block_;
  Kind kind_ = Kind::tensor;
};

Granularity granularity(const VjpContext& c) { return {c.node(), c.input(0), c.input(1)}; }

// ---- QuantizeLinear

Expr logical_or(Expr a, Expr b) { return a.builder().add("Or", values({a, b}), DType::boolean); }

/// Whether round(v) + zero point lies in the range of a type. Ties round to even: at half a step
/// beyond the last number, v is in the range where that number is even.
Expr is_in_range(Expr v, std::optional<Expr> zero_point, const QuantizedRange& range) {
  Builder& b = v.builder();
  const DType counted = range.is_whole ? DType::i32 : v.dtype();
  const auto last = [&](double number) {
    const Expr limit = b.scalar(number, counted);
    return zero_point ? limit - cast(*zero_point, counted) : limit;
  };
  const Expr low = last(range.low), high = last(range.high);
  if (!range.is_whole) {
    return logical_not(logical_or(less(v, low), greater(v, high)));
  }
  const auto is_even = [](Expr n) { return equal(n / 2 * 2, n); };
  const Expr below = cast(low, v.dtype()) - 0.5, above = cast(high, v.dtype()) + 0.5;
  const Expr on_low = logical_and(equal(v, below), is_even(low));
  const Expr on_high = logical_and(equal(v, above), is_even(high));
  return logical_or(logical_and(greater(v, below), less(v, above)), logical_or(on_low, on_high));
}

// dx = dq / scale and dscale = -sum(dq x / scale^2), both within the range alone.
Grads quantize_linear_vjp(const VjpContext& c) {
  const Expr x = c.input(0), scale = c.input(1), dq = c.grad(0);
  if (!is_float(x.dtype()) || !is_float(scale.dtype())) {
    throw Error("only the quantization of floats by scales that are floats has a gradient");
  }
  const auto scales = granularity(c);
  const DType zero_type = c.has_input(2) ? c.input(2).dtype() : DType::undefined;
  const DType dtype = quantized_type(c.node(), zero_type);
  const DType division = division_type(c.node(), scale.dtype());
  const Expr spread = scales.spread(cast(scale, division));
  // Numbers of the range and half a step beyond are exact in float32.
  const Expr v = cast(cast(x, division) / spread, DType::f32);
  std::optional<Expr> zero_point;
  if (c.has_input(2)) zero_point = scales.spread(cast(c.input(2), DType::f32));
  const Expr inside = is_in_range(v, zero_point, quantized_range(dtype));
  const Expr wide = cast(dq, DType::f32), wide_scale = cast(spread, DType::f32);
  const Expr dv = where(inside, wide / wide_scale, zeros_like(wide));
  return {cast(dv, x.dtype()), cast(-scales.sum(dv * v), scale.dtype())};
}

// ---- DequantizeLinear

DType dequantized_type(const Node& node, DType scale) {
  const int64_t given = node.int_or("output_dtype", 0);
  const DType dtype = given == 0 ? scale : dtype_from_onnx(given).value_or(DType::undefined);
  if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) return dtype;
  throw Error(fmt::format("its result would be of type {}, not f32, f16 or bf16", name(dtype)));
}

/// (q - zero point), in float32: exact but for large int32, which have no zero point.
Expr centered(Expr q, std::optional<Expr> zero_point, const Granularity& scales) {
  const Expr wide = cast(q, DType::f32);
  return zero_point ? wide - scales.spread(cast(*zero_point, DType::f32)) : wide;
}

std::vector<Expr> dequantize_linear_expansion(const ExpandContext& c) {
  const Granularity scales(c.node(), c.input(0), c.input(1));
  const DType dtype = dequantized_type(c.node(), c.input(1).dtype());
  std::optional<Expr> zero_point;
  if (c.has_input(2)) zero_point = c.input(2);
  const Expr steps = centered(c.input(0), zero_point, scales);
  return {cast(steps * scales.spread(cast(c.input(1), DType::f32)), dtype)};
}

// dq = dy scale, dscale = sum(dy (q - zero point)).
Grads dequantize_linear_vjp(const VjpContext& c) {
  const Expr q = c.input(0), scale = c.input(1), dy = cast(c.grad(0), DType::f32);
  const auto scales = granularity(c);
  std::optional<Expr> zero_point;
  if (c.has_input(2)) zero_point = c.input(2);
  const Expr dq = dy * scales.spread(cast(scale, DType::f32));
  return {dq, cast(scales.sum(dy * centered(q, zero_point, scales)), scale.dtype())};
}

// ---- DynamicQuantizeLinear

// scale = (max - min) / 255, with a range that is widened to have 0 in it; 1 where there are
// nothing but zeros, as in ONNX Runtime (the standard divides 0 by 0 there). The zero point,
// saturate(round(-min / scale)), is a quantization itself.
std::vector<Expr> dynamic_quantize_linear_expansion(const ExpandContext& c) {
  Builder& b = c.builder();
  const Expr x = c.input(0), zero = b.scalar(0, x.dtype());
  const auto largest = [&](Expr value) {
    const Expr all = b.add("ReduceMax", {value.value()}, x.dtype(), {{"keepdims", int64_t{0}}});
    return larger(all, zero);
  };
  const Expr high = largest(x), minus_low = largest(-x);
  const Expr range = high + minus_low;
  const Expr scale = where(equal(range, zero), b.scalar(1, x.dtype()), range / 255);
  const Expr zero_point =
      b.add("QuantizeLinear", values({minus_low, scale, b.scalar(0, DType::u8)}), DType::u8);
  return {b.add("QuantizeLinear", values({x, scale, zero_point}), DType::u8), scale, zero_point};
}

// ---- products of quantized tensors

/// Which side of a product an operand is: the left one is quantized by rows, the right by columns.
enum class Side : uint8_t { left, right };

/// Scales or zero points of a factor, in a shape that broadcasts against it: one number, one for
/// each row (column) of a matrix, or such a shape already.
Expr beside_matrix(Expr value, Side side) {
  if (is_one_number(value.value())) return reshape(value, value.builder().integers({}));
  const bool is_vector = rank_of_operand(value.value()) == 1;
  return is_vector && side == Side::left ? unsqueeze(value, value.builder().integers({-1})) : value;
}

/// A factor without its zero point, in a type that holds all differences and their products.
Expr centered_matrix(Expr matrix, std::optional<Expr> zero_point, Side side, DType dtype) {
  const Expr wide = cast(matrix, dtype);
  return zero_point ? wide - cast(beside_matrix(*zero_point, side), dtype) : wide;
}

std::optional<Expr> optional_input(const ExpandContext& c, size_t index) {
  if (!c.has_input(index)) return std::nullopt;
  return c.input(index);
}

std::vector<Expr> matmul_integer_expansion(const ExpandContext& c) {
  return {matmul(centered_matrix(c.input(0), optional_input(c, 2), Side::left, DType::i32),
                 centered_matrix(c.input(1), optional_input(c, 3), Side::right, DType::i32))};
}

/// saturate(round(product * multiplier) + zero point): one multiplication, as runtimes have it.
Expr requantized(Expr product, Expr multiplier, Expr zero_point) {
  Builder& b = product.builder();
  const Expr scaled = cast(product, DType::f32) * multiplier;
  return b.add("QuantizeLinear", values({scaled, b.scalar(1, DType::f32), zero_point}),
               zero_point.dtype());
}

Expr one_number(Expr value) { return reshape(value, value.builder().integers({})); }

// Inputs a, its scale and zero point, b, its scale and zero point, the result's scale and zero
// point.
std::vector<Expr> qlinear_matmul_expansion(const ExpandContext& c) {
  const DType dtype =
      is_integer(c.input(0).dtype()) && is_integer(c.input(3).dtype()) ? DType::i32 : DType::f32;
  const Expr product = matmul(centered_matrix(c.input(0), c.input(2), Side::left, dtype),
                              centered_matrix(c.input(3), c.input(5), Side::right, dtype));
  const auto scale = [&](size_t input, Side side) {
    return cast(beside_matrix(c.input(input), side), DType::f32);
  };
  const Expr result_scale = cast(one_number(c.input(6)), DType::f32);
  const Expr multiplier = scale(1, Side::left) * scale(4, Side::right) / result_scale;
  return {requantized(product, multiplier, one_number(c.input(7)))};
}

/// One number, or one for each output of a kernel, as the kernel's first dimension.
Expr beside_kernel(Expr value, Expr kernel) {
  if (is_one_number(value.value())) return one_number(value);
  if (rank_of_operand(value.value()) == 0) return value;
  const Expr ones = expand(value.builder().integers({1}), rank_of(kernel) - 1);
  return reshape(value, concat({shape_of(value), ones}, 0));
}

/// The convolution of centered tensors, in float64, where every sum of their products is exact.
Expr exact_convolution(const ExpandContext& c, Expr x, Expr w) {
  std::vector<NamedAttribute> attributes;
  for (const char* name : {"auto_pad", "group"}) {
    const Attribute* found = c.node().attribute(name);
    if (!found) continue;
    if (const auto* number = std::get_if<int64_t>(&found->value))
      attributes.push_back({name, *number});
    if (const auto* text = std::get_if<std::string>(&found->value))
      attributes.push_back({name, *text});
  }
  for (const char* name : {"dilations", "kernel_shape", "pads", "strides"}) {
    if (const auto* list = c.node().get<std::vector<int64_t>>(name)) {
      attributes.push_back({name, *list});
    }
  }
  return c.builder().add("Conv", values({x, w}), DType::f64, attributes);
}

/// Both operands without their zero points, convolved.
Expr centered_convolution(const ExpandContext& c, Expr x, std::optional<Expr> x_zero, Expr w,
                          std::optional<Expr> w_zero) {
  Expr image = cast(x, DType::f64), kernel = cast(w, DType::f64);
  if (x_zero) image = image - cast(one_number(*x_zero), DType::f64);
  if (w_zero) kernel = kernel - cast(beside_kernel(*w_zero, w), DType::f64);
  return exact_convolution(c, image, kernel);
}

/// The low 32 bits: sums overflow as those of int32 do.
Expr as_int32(Expr sums) { return cast(cast(sums, DType::i64), DType::i32); }

std::vector<Expr> conv_integer_expansion(const ExpandContext& c) {
  return {as_int32(
      centered_convolution(c, c.input(0), optional_input(c, 2), c.input(1), optional_input(c, 3)))};
}

// Inputs x, its scale and zero point, w, its scale and zero point, the result's scale and zero
// point, and a bias in steps of x's scale times w's.
std::vector<Expr> qlinear_conv_expansion(const ExpandContext& c) {
  const Expr w = c.input(3);
  Expr sums = as_int32(centered_convolution(c, c.input(0), c.input(2), w, c.input(5)));
  // Of an output, not of a kernel: without the dimension of the input's channels.
  const auto for_outputs = [&](Expr value) {
    if (is_one_number(value.value())) return one_number(value);
    const Expr ones = expand(c.builder().integers({1}), rank_of(w) - 2);
    return reshape(value, concat({shape_of(value), ones}, 0));
  };
  if (c.has_input(8)) sums = sums + for_outputs(c.input(8));
  const Expr multiplier = one_number(c.input(1)) * for_outputs(c.input(4)) / one_number(c.input(6));
  return {requantized(sums, multiplier, one_number(c.input(7)))};
}

constexpr std::string_view kIntegers = "its result is integers";

const OpDef kQuantizationOps[] = {
    {.name = "ConvInteger",
     .expansion = conv_integer_expansion,
     .traits = kWindows,
     .inputs = {In::data, In::data, In::setting},
     .no_gradient = kIntegers},
    {.name = "DequantizeLinear",
     .vjp = dequantize_linear_vjp,
     .expansion = dequantize_linear_expansion,
     .inputs = {In::data, In::setting}},
    {.name = "DynamicQuantizeLinear", .expansion = dynamic_quantize_linear_expansion},
    {.name = "MatMulInteger",
     .expansion = matmul_integer_expansion,
     .inputs = {In::data, In::data, In::setting},
     .no_gradient = kIntegers},
    {.name = "QLinearConv",
     .expansion = qlinear_conv_expansion,
     .traits = kWindows,
     .inputs = {In::data, In::setting, In::setting, In::data, In::setting},
     .no_gradient = kIntegers},
    {.name = "QLinearMatMul",
     .expansion = qlinear_matmul_expansion,
     .inputs = {In::data, In::setting, In::setting, In::data, In::setting},
     .no_gradient = kIntegers},
    {.name = "QuantizeLinear",
     .vjp = quantize_linear_vjp,
     .traits = kStraightThrough,
     .inputs = {In::data, In::setting}},
};

}  // namespace

QuantizedRange quantized_range(DType dtype) {
  const auto* found = std::ranges::find(kQuantizedTypes, dtype, &QuantizedType::dtype);
  if (found != std::end(kQuantizedTypes)) return found->range;
  throw Error(fmt::format("{} is no type of quantized elements", name(dtype)));
}

DType quantized_type(const Node& node, DType zero_point) {
  const int64_t number = node.int_or("output_dtype", 0);
  const DType given = dtype_from_onnx(number).value_or(DType::undefined);
  if (zero_point != DType::undefined) {
    if (number != 0 && given != zero_point) {
      throw Error(fmt::format("its output_dtype is {}, but its zero point is of type {}",
                              name(given), name(zero_point)));
    }
    return zero_point;
  }
  if (number == 0) return DType::u8;
  quantized_range(given);  // which looks at it
  return given;
}

DType division_type(const Node& node, DType scale) {
  if (const int64_t given = node.int_or("precision", 0); given != 0) {
    return dtype_from_onnx(given).value_or(DType::undefined);
  }
  if (scale == DType::i32) return DType::f64;
  return bits(scale) < 16 ? DType::f32 : scale;
}

bool saturates(const Node& node, DType quantized) {
  return is_integer(quantized) || bits(quantized) < 8 || node.int_or("saturate", 1) != 0;
}

std::span<const OpDef> quantization_ops() { return kQuantizationOps; }

}  // namespace onward
