#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// y = f(x), element by element, for a function object with a templated call.
template <typename F>
Tensors map_numbers(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    Array<T> x = c.array<T>(0);
    for (T& value : x.data) value = F{}(value);
    return {to_tensor(x, dtype)};
  });
}

template <typename F>
Tensors map_floats(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    Array<T> x = c.array<T>(0);
    for (T& value : x.data) value = F{}(value);
    return {to_tensor(x, dtype)};
  });
}

/// f(a, b) over the broadcast of two arrays.
template <typename Result, typename T, typename F>
Array<Result> zip(const Array<T>& a, const Array<T>& b, F f) {
  Array<Result> y(broadcast_shape(a.dims, b.dims));
  const auto from_a = broadcast_indices(a.dims, y.dims);
  const auto from_b = broadcast_indices(b.dims, y.dims);
  for (size_t i = 0; i < y.data.size(); ++i) {
    y.data[i] = f(a.data[static_cast<size_t>(from_a[i])], b.data[static_cast<size_t>(from_b[i])]);
  }
  return y;
}

template <typename F>
Tensors zip_numbers(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    return {to_tensor(zip<T>(c.array<T>(0), c.array<T>(1), F{}), dtype)};
  });
}

template <typename F>
Tensors compare(const Context& c) {
  if (c.input(0).dtype() == DType::string) throw Error("strings can't be compared yet");
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    return {to_tensor(zip<uint8_t>(c.array<T>(0), c.array<T>(1), F{}), DType::boolean)};
  });
}

struct Absolute {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_unsigned_v<T>)
      return x;
    else
      return x < T(0) ? minus(T(0), x) : x;
  }
};
struct Negate {
  template <typename T>
  T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return minus(T(0), x);
  }
};
struct SignOf {
  template <typename T>
  T operator()(T x) const {
    return x != x ? x : static_cast<T>((x > T(0)) - (x < T(0)));
  }
};
struct Rectify {
  template <typename T>
  T operator()(T x) const {
    return x < T(0) ? T(0) : x;
  }  // keeps NaN
};
struct Exponential {
  template <typename T>
  T operator()(T x) const {
    return std::exp(x);
  }
};
struct Logarithm {
  template <typename T>
  T operator()(T x) const {
    return std::log(x);
  }
};
struct SquareRoot {
  template <typename T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
struct Inverse {
  template <typename T>
  T operator()(T x) const {
    return T(1) / x;
  }
};
struct HyperbolicTangent {
  template <typename T>
  T operator()(T x) const {
    return std::tanh(x);
  }
};
struct ErrorFunction {
  template <typename T>
  T operator()(T x) const {
    return std::erf(x);
  }
};
struct SoftRectify {
  // log(1 + e^x), without the overflow of e^x.
  template <typename T>
  T operator()(T x) const {
    return std::max(x, T(0)) + std::log1p(std::exp(-std::fabs(x)));
  }
};
struct Logistic {
  // The exponent is never positive, so that nothing overflows.
  template <typename T>
  T operator()(T x) const {
    const T e = std::exp(-std::fabs(x));
    return x >= T(0) ? T(1) / (T(1) + e) : e / (T(1) + e);
  }
};

struct Plus {
  template <typename T>
  T operator()(T a, T b) const {
    return plus(a, b);
  }
};
struct Minus {
  template <typename T>
  T operator()(T a, T b) const {
    return minus(a, b);
  }
};
struct Times {
  template <typename T>
  T operator()(T a, T b) const {
    return times(a, b);
  }
};
struct Over {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == T(0)) throw Error("an integer is divided by zero");
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return minus(T(0), a);  // the lowest has no negative
      }
    }
    return static_cast<T>(a / b);
  }
};
struct Same {
  template <typename T>
  uint8_t operator()(T a, T b) const {
    return a == b;
  }
};
struct Smaller {
  template <typename T>
  uint8_t operator()(T a, T b) const {
    return a < b;
  }
};
struct Larger {
  template <typename T>
  uint8_t operator()(T a, T b) const {
    return a > b;
  }
};

struct Both {
  uint8_t operator()(uint8_t a, uint8_t b) const { return a && b; }
};
struct Either {
  uint8_t operator()(uint8_t a, uint8_t b) const { return a || b; }
};

template <typename F>
Tensors logical(const Context& c) {
  return {to_tensor(zip<uint8_t>(c.array<uint8_t>(0), c.array<uint8_t>(1), F{}), DType::boolean)};
}

Tensors logical_not(const Context& c) {
  Array<uint8_t> x = c.array<uint8_t>(0);
  for (uint8_t& value : x.data) value = !value;
  return {to_tensor(x, DType::boolean)};
}

Tensors identity(const Context& c) { return {c.input(0)}; }

/// Folds any number of inputs, with broadcasting.
template <typename F>
Tensors fold(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    Array<T> y = c.array<T>(0);
    for (size_t i = 1; i < c.inputs(); ++i) y = zip<T>(y, c.array<T>(i), F{});
    return {to_tensor(y, dtype)};
  });
}

// NaN wins, as in NumPy.
struct TheLarger {
  template <typename T>
  T operator()(T a, T b) const {
    return a != a || a > b ? a : b;
  }
};
struct TheSmaller {
  template <typename T>
  T operator()(T a, T b) const {
    return a != a || a < b ? a : b;
  }
};

Tensors leaky_relu(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    const T alpha = static_cast<T>(c.node().float_or("alpha", 0.01F));
    Array<T> x = c.array<T>(0);
    for (T& value : x.data) value = value < T(0) ? alpha * value : value;
    return {to_tensor(x, dtype)};
  });
}

Tensors gelu(const Context& c) {
  const DType dtype = c.input(0).dtype();
  const bool by_tanh = c.node().string_or("approximate", "none") == "tanh";
  return compute_as_float(dtype, [&]<typename T>() -> Tensors {
    Array<T> x = c.array<T>(0);
    for (T& v : x.data) {
      const T inner = by_tanh ? std::tanh(static_cast<T>(std::sqrt(2 / std::numbers::pi)) *
                                          (v + static_cast<T>(0.044715) * v * v * v))
                              : std::erf(v / std::numbers::sqrt2_v<T>);
      v = T(0.5) * v * (T(1) + inner);
    }
    return {to_tensor(x, dtype)};
  });
}

Tensors clip(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    Array<T> x = c.array<T>(0);
    if (c.has(1)) {
      const T low = c.scalar<T>(1);
      for (T& value : x.data) value = TheLarger{}(value, low);
    }
    if (c.has(2)) {
      const T high = c.scalar<T>(2);
      for (T& value : x.data) value = TheSmaller{}(value, high);
    }
    return {to_tensor(x, dtype)};
  });
}

/// A power of integers by its low bits.
template <typename T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      if (base == 0) throw Error("zero is raised to a negative power");
      if (base == 1 || base == -1) return exponent % 2 == 0 ? T(1) : base;
      return 0;
    }
  }
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto rest = static_cast<uint64_t>(exponent); rest > 0; rest >>= 1, factor *= factor) {
    if (rest & 1) result *= factor;
  }
  return static_cast<T>(result);
}

/// Base and exponent may differ in type; the base's is the result's.
Tensors power(const Context& c) {
  const DType dtype = c.input(0).dtype();
  if (is_integer(dtype) && is_integer(c.input(1).dtype())) {
    // Of the base only the low bits matter, so that its sign is the exponent's.
    const auto raised = [&]<typename T>() {
      return to_tensor(zip<T>(c.array<T>(0), c.array<T>(1), integer_power<T>), dtype);
    };
    const bool positive = c.input(1).dtype() == DType::u64;
    return {positive ? raised.operator()<uint64_t>() : raised.operator()<int64_t>()};
  }
  return compute_as(is_integer(dtype) ? DType::f64 : dtype, [&]<typename T>() -> Tensors {
    const auto raise = [](T base, T exponent) { return static_cast<T>(std::pow(base, exponent)); };
    return {to_tensor(zip<T>(c.array<T>(0), c.array<T>(1), raise), dtype)};
  });
}

/// Numbers to numbers; truth values are 0 and 1. Large floats become infinite, or the largest
/// number of the 8-bit types where `saturate` says so.
Tensors cast_to(const Context& c, DType to) {
  const Tensor& x = c.input(0);
  if (to == x.dtype()) return {x};
  if (to == DType::string || x.dtype() == DType::string) throw Error("strings can't be cast yet");
  if (is_float(to) && bits(to) <= 8) throw Error("casts to 8-bit floats are not there yet");
  return compute_as(x.dtype(),
                    [&]<typename T>() -> Tensors { return {to_tensor(c.array<T>(0), to)}; });
}

Tensors cast(const Context& c) {
  const auto to = dtype_from_onnx(c.node().int_or("to", 0));
  if (!to || *to == DType::undefined) throw Error("its attribute 'to' is no element type");
  return cast_to(c, *to);
}

Tensors cast_like(const Context& c) { return cast_to(c, c.input(1).dtype()); }

constexpr KernelDef kElementwiseKernels[] = {
    {"Abs", map_numbers<Absolute>},
    {"Add", zip_numbers<Plus>},
    {"And", logical<Both>},
    {"Cast", cast},
    {"CastLike", cast_like},
    {"Clip", clip},
    {"Div", zip_numbers<Over>},
    {"Equal", compare<Same>},
    {"Erf", map_floats<ErrorFunction>},
    {"Exp", map_floats<Exponential>},
    {"Greater", compare<Larger>},
    {"Gelu", gelu},
    {"Identity", identity},
    {"LeakyRelu", leaky_relu},
    {"Less", compare<Smaller>},
    {"Log", map_floats<Logarithm>},
    {"Max", fold<TheLarger>},
    {"Min", fold<TheSmaller>},
    {"Mul", zip_numbers<Times>},
    {"Neg", map_numbers<Negate>},
    {"Not", logical_not},
    {"Or", logical<Either>},
    {"Pow", power},
    {"Reciprocal", map_floats<Inverse>},
    {"Relu", map_numbers<Rectify>},
    {"Sigmoid", map_floats<Logistic>},
    {"Sign", map_numbers<SignOf>},
    {"Softplus", map_floats<SoftRectify>},
    {"Sqrt", map_floats<SquareRoot>},
    {"Sub", zip_numbers<Minus>},
    {"Sum", fold<Plus>},
    {"Tanh", map_floats<HyperbolicTangent>},
};

}  // namespace

std::span<const KernelDef> elementwise_kernels() { return kElementwiseKernels; }

}  // namespace onward::eval
