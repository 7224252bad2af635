#include "eval/softmax.h"

#include "eval/families.h"
#include "eval/lines.h"

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

Tensors softmax(const Context& c) {
  const DType dtype = c.input(0).dtype();
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
