// Integers of fewer bits are computed with in 64, of which the low ones are kept.

#include <functional>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// f(a, b) of the elements of two integer tensors, broadcast.
template <typename F>
Tensors of_two(const Context& c, F f) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    if constexpr (std::is_integral_v<T>) {
      const Array<T> a = c.array<T>(0), b = c.array<T>(1);
      Array<T> y(broadcast_shape(a.dims, b.dims));
      const auto from_a = broadcast_indices(a.dims, y.dims);
      const auto from_b = broadcast_indices(b.dims, y.dims);
      for (size_t i = 0; i < y.data.size(); ++i) y.data[i] = f(a[from_a[i]], b[from_b[i]]);
      return {to_tensor(y, dtype)};
    } else {
      throw Error("floats have no bits to compute with");
    }
  });
}

template <typename Join>
Tensors joined(const Context& c) {
  return of_two(c, []<typename T>(T a, T b) { return static_cast<T>(Join()(a, b)); });
}

/// Beyond the bits of the type all of them are gone: what is left is the sign.
Tensors shift(const Context& c) {
  const int width = bits(c.input(0).dtype());
  const bool left = c.node().string_or("direction", "") == "LEFT";
  return of_two(c, [=]<typename T>(T x, T by) {
    const bool is_inside = by >= T(0) && by < static_cast<T>(width);
    if (left) return is_inside ? static_cast<T>(static_cast<uint64_t>(x) << by) : T(0);
    return is_inside ? static_cast<T>(x >> by) : x < T(0) ? static_cast<T>(-1) : T(0);
  });
}

Tensors bitwise_not(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    Array<T> x = c.array<T>(0);
    if constexpr (std::is_integral_v<T>) {
      for (T& value : x.data) value = static_cast<T>(~value);
    }
    return {to_tensor(x, dtype)};
  });
}

/// The same bytes, as elements of another type of as many bits.
Tensors bit_cast(const Context& c) {
  const Tensor& x = c.input(0);
  const DType to = dtype_from_onnx(c.node().int_or("to", 0)).value_or(DType::undefined);
  const auto bytes = x.bytes();
  return {Tensor::from_bytes(to, x.dims(),
                             std::make_shared<const std::string>(
                                 reinterpret_cast<const char*>(bytes.data()), bytes.size()))};
}

constexpr KernelDef kBitwiseKernels[] = {
    {"BitCast", bit_cast},
    {"BitShift", shift},
    {"BitwiseAnd", joined<std::bit_and<>>},
    {"BitwiseNot", bitwise_not},
    {"BitwiseOr", joined<std::bit_or<>>},
    {"BitwiseXor", joined<std::bit_xor<>>},
};

}  // namespace

std::span<const KernelDef> bitwise_kernels() { return kBitwiseKernels; }

}  // namespace onward::eval
