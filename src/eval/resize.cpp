#include <algorithm>
#include <cmath>
#include <numeric>

#include "eval/families.h"
#include "ops/resize_axes.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// Region, scales and sizes, which begin at input `first`.
ResizeOperands resize_operands(const Context& c, size_t first) {
  const auto given = [&](size_t input) { return c.has(input) ? &c.input(input) : nullptr; };
  return {.roi = given(first), .scales = given(first + 1), .sizes = given(first + 2)};
}

/// A tensor as [outer, size of the axis, inner].
struct AlongAxis {
  int64_t outer, inner;

  AlongAxis(std::span<const int64_t> dims, size_t axis)
      : outer(checked_element_count(dims.first(axis))),
        inner(checked_element_count(dims.subspan(axis + 1))) {}
};

template <typename T>
Array<T> resized_along(const Array<T>& x, const ResizedAxis& axis) {
  std::vector<int64_t> dims = x.dims;
  dims[axis.axis] = axis.output;
  const AlongAxis along(dims, axis.axis);
  Array<T> y(dims);
  for (int64_t o = 0; o < along.outer; ++o) {
    for (int64_t at = 0; at < axis.output; ++at) {
      if (axis.is_outside(at)) continue;
      for (int64_t k = at * axis.taps; k < (at + 1) * axis.taps; ++k) {
        const auto weight = static_cast<T>(axis.weights[static_cast<size_t>(k)]);
        const int64_t from = o * axis.input + axis.indices[static_cast<size_t>(k)];
        for (int64_t i = 0; i < along.inner; ++i) {
          y[(o * axis.output + at) * along.inner + i] += weight * x[from * along.inner + i];
        }
      }
    }
  }
  return y;
}

template <typename T>
Array<T> spread_along(const Array<T>& dy, const ResizedAxis& axis) {
  std::vector<int64_t> dims = dy.dims;
  dims[axis.axis] = axis.input;
  const AlongAxis along(dims, axis.axis);
  Array<T> dx(dims);
  for (int64_t o = 0; o < along.outer; ++o) {
    for (int64_t at = 0; at < axis.output; ++at) {
      if (axis.is_outside(at)) continue;
      for (int64_t k = at * axis.taps; k < (at + 1) * axis.taps; ++k) {
        const auto weight = static_cast<T>(axis.weights[static_cast<size_t>(k)]);
        const int64_t to = o * axis.input + axis.indices[static_cast<size_t>(k)];
        for (int64_t i = 0; i < along.inner; ++i) {
          dx[to * along.inner + i] += weight * dy[(o * axis.output + at) * along.inner + i];
        }
      }
    }
  }
  return dx;
}

bool lies_outside(std::span<const int64_t> position, const std::vector<ResizedAxis>& axes) {
  return std::ranges::any_of(
      axes, [&](const ResizedAxis& axis) { return axis.is_outside(position[axis.axis]); });
}

/// Elements of any type, of which none is computed.
Tensor nearest_elements(const Tensor& x, const std::vector<int64_t>& dims,
                        const std::vector<ResizedAxis>& axes, float outside) {
  const auto strides = strides_of(x.dims());
  std::vector<int64_t> from(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))));
  bool leaves = false;
  for_each_position(dims, [&](std::span<const int64_t> position, int64_t i) {
    std::vector<int64_t> source(position.begin(), position.end());
    for (const ResizedAxis& axis : axes) {
      source[axis.axis] = axis.indices[static_cast<size_t>(position[axis.axis])];
    }
    const bool is_outside = lies_outside(position, axes);
    leaves |= is_outside;
    from[static_cast<size_t>(i)] =
        is_outside ? -1
                   : std::inner_product(source.begin(), source.end(), strides.begin(), int64_t{0});
  });
  if (!leaves) return take_elements(x, dims, from);
  const Array<double> value(std::vector<int64_t>{}, static_cast<double>(outside));
  const Tensor fill = to_tensor(value, x.dtype());
  return take_elements(x, dims, from, &fill);
}

/// Integers are rounded toward zero, within what they can hold.
double within(double number, DType dtype) {
  if (dtype == DType::boolean) return number != 0 ? 1 : 0;
  if (!is_integer(dtype)) return number;
  const bool is_signed =
      dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
  const double limit = std::ldexp(1.0, static_cast<int>(bits(dtype)) - (is_signed ? 1 : 0));
  const double most = bits(dtype) < 64 ? limit - 1 : std::nextafter(limit, 0.0);
  return std::trunc(std::clamp(number, is_signed ? -limit : 0.0, most));
}

Tensors resize(const Context& c) {
  const Tensor& x = c.input(0);
  const ResizeOperands operands = resize_operands(c, 1);
  const auto dims = resized_dims(c.node(), x.dims(), operands);
  const auto axes = resized_axes(c.node(), x.dims(), operands);
  const float outside = c.node().float_or("extrapolation_value", 0);
  if (c.node().string_or("mode", "nearest") == "nearest") {
    return {nearest_elements(x, dims, axes, outside)};
  }
  const auto interpolate = [&]<typename T>() -> Tensors {
    Array<T> y = c.array<T>(0);
    for (const ResizedAxis& axis : axes) y = resized_along(y, axis);
    for_each_position(dims, [&](std::span<const int64_t> position, int64_t i) {
      if (lies_outside(position, axes)) y[i] = static_cast<T>(outside);
    });
    if constexpr (std::is_same_v<T, double>) {
      for (T& number : y.data) number = within(number, x.dtype());
    }
    return {to_tensor(y, x.dtype())};
  };
  if (x.dtype() != DType::f64 && is_float(x.dtype())) {
    return interpolate.template operator()<float>();
  }
  return interpolate.template operator()<double>();
}

/// Inputs dy, the shape of x, and what the forward had.
Tensors resize_grad(const Context& c) {
  const DType dtype = c.input(0).dtype();
  const auto axes = resized_axes(c.node(), c.input(1).integers(), resize_operands(c, 2));
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    Array<T> dx = c.array<T>(0);
    for (const ResizedAxis& axis : axes) dx = spread_along(dx, axis);
    return {to_tensor(dx, dtype)};
  });
}

constexpr KernelDef kResizeKernels[] = {
    {"Resize", resize},
    {"ResizeGrad", resize_grad, "onward"},
};

}  // namespace

std::span<const KernelDef> resize_kernels() { return kResizeKernels; }

}  // namespace onward::eval
