#include "eval/softmax.h"

#include "eval/families.h"

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

constexpr KernelDef kSoftmaxKernels[] = {
    {"LogSoftmax", log_softmax_kernel},
    {"Softmax", softmax},
};

}  // namespace

std::span<const KernelDef> softmax_kernels() { return kSoftmaxKernels; }

}  // namespace onward::eval
