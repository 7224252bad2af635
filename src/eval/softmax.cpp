#include "eval/softmax.h"

#include "eval/families.h"
#include "eval/lines.h"
#include "ir/float_formats.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

Tensors log_softmax_kernel(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    return {to_tensor(log_softmax(x, c.axis("axis", -1, x.rank())), dtype)};
  });
}

/// The nearest number of a type of at most 16 bits.
float rounded(float value, DType dtype) {
  return decode_small_float(dtype, encode_small_float(dtype, value, Overflow::special));
}

/// The steps of the standard's function, each rounded to the type of the numbers, as Attention asks
/// for where no softmax_precision names a wider one. A sum beyond the range of the type is kept:
/// nothing would be left of its row.
Array<float> softmax_in(DType dtype, Array<float> x, int64_t axis) {
  const Lines lines(x.dims, axis);
  for (int64_t line = 0; lines.length > 0 && line < lines.count; ++line) {
    float largest = x[lines.at(line, 0)], sum = 0;
    for (int64_t i = 1; i < lines.length; ++i) largest = std::max(largest, x[lines.at(line, i)]);
    for (int64_t i = 0; i < lines.length; ++i) {
      float& value = x[lines.at(line, i)];
      value = rounded(std::exp(rounded(value - largest, dtype)), dtype);
      sum += value;
    }
    const float narrow = rounded(sum, dtype), divisor = std::isinf(narrow) ? sum : narrow;
    for (int64_t i = 0; i < lines.length; ++i) x[lines.at(line, i)] /= divisor;
  }
  return x;
}

Tensors softmax(const Context& c) {
  const DType dtype = c.input(0).dtype();
  if (bits(dtype) <= 16) {
    Array<float> x = c.array<float>(0);
    const int64_t axis = c.axis("axis", -1, x.rank());
    return {to_tensor(softmax_in(dtype, std::move(x), axis), dtype)};
  }
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    Array<T> y = log_softmax(x, c.axis("axis", -1, x.rank()));
    for (T& value : y.data) value = std::exp(value);
    return {to_tensor(y, dtype)};
  });
}

/// 1 at the first of the largest elements along the axis; NaN is the largest.
Tensors hardmax(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    const Lines lines(x.dims, c.axis("axis", -1, x.rank()));
    Array<T> y(x.dims);
    for (int64_t line = 0; lines.length > 0 && line < lines.count; ++line) {
      int64_t best = lines.at(line, 0);
      for (int64_t i = 1; i < lines.length; ++i) {
        const int64_t at = lines.at(line, i);
        if (x[best] == x[best] && !(x[at] <= x[best])) best = at;
      }
      y[best] = T(1);
    }
    return {to_tensor(y, dtype)};
  });
}

constexpr KernelDef kSoftmaxKernels[] = {
    {"Hardmax", hardmax},
    {"LogSoftmax", log_softmax_kernel},
    {"Softmax", softmax},
};

}  // namespace

std::span<const KernelDef> softmax_kernels() { return kSoftmaxKernels; }

}  // namespace onward::eval
