#include <algorithm>
#include <cmath>
#include <type_traits>

#include "eval/elementwise_table.h"
#include "eval/families.h"
#include "eval/narrow_float.h"
#include "eval/number_text.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;
using elementwise::Attributes, elementwise::Facts, elementwise::Reference, elementwise::kTable;

/// The functions of the standard library.
struct StandardMath {
  template <typename T>
  static T exp(T x) {
    return std::exp(x);
  }
  template <typename T>
  static T tanh(T x) {
    return std::tanh(x);
  }
  template <typename T>
  static T erf(T x) {
    return std::erf(x);
  }
};

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

/// f(a, b) of one element.
template <typename F, typename T>
auto two(T a, T b) {
  return F::template apply<StandardMath>(a, b);
}

/// Calls `body` with the type in which elements of `dtype` are computed.
template <Reference kTakes, typename Body>
Tensors compute(DType dtype, Body body) {
  if constexpr (kTakes == Reference::truths) {
    return body.template operator()<uint8_t>();
  } else if constexpr (kTakes == Reference::floats) {
    return compute_as_float(dtype, body);
  } else {
    return compute_as(dtype, body);
  }
}

template <typename F, Reference kTakes>
Tensors map(const Context& c, const Facts& facts) {
  const DType dtype = c.input(0).dtype();
  return compute<kTakes>(dtype, [&]<typename T>() -> Tensors {
    Array<T> x = c.array<T>(0);
    const Attributes attributes = facts.attributes_of(c.node());
    for (T& value : x.data) {
      if constexpr (requires { F::template apply<StandardMath>(value, attributes); }) {
        value = F::template apply<StandardMath>(value, attributes);
      } else {
        value = F::template apply<StandardMath>(value);
      }
    }
    return {to_tensor(x, dtype)};
  });
}

/// Over any number of inputs where the row says so.
template <typename F, Reference kTakes>
Tensors join(const Context& c, const Facts& facts) {
  const DType dtype = c.input(0).dtype();
  return compute<kTakes>(dtype, [&]<typename T>() -> Tensors {
    Array<T> y = c.array<T>(0);
    const size_t count = facts.joins_inputs() ? c.inputs() : 2;
    for (size_t i = 1; i < count; ++i) y = zip<T>(y, c.array<T>(i), two<F, T>);
    return {to_tensor(y, dtype)};
  });
}

/// Of Equal, the only comparison that takes strings.
Tensor equal_texts(const Context& c) {
  const Tensor &a = c.input(0), &b = c.input(1);
  Array<uint8_t> y(broadcast_shape(a.dims(), b.dims()));
  const auto from_a = broadcast_indices(a.dims(), y.dims);
  const auto from_b = broadcast_indices(b.dims(), y.dims);
  for (size_t i = 0; i < y.data.size(); ++i) {
    const std::string &x = a.strings()[static_cast<size_t>(from_a[i])],
                      &z = b.strings()[static_cast<size_t>(from_b[i])];
    y.data[i] = x == z ? 1 : 0;
  }
  return to_tensor(y, DType::boolean);
}

template <typename F, Reference kTakes>
Tensors compare(const Context& c) {
  if (c.input(0).dtype() == DType::string) return {equal_texts(c)};
  return compute<kTakes>(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    return {to_tensor(zip<uint8_t>(c.array<T>(0), c.array<T>(1), two<F, T>), DType::boolean)};
  });
}

/// The kernel of a row of the table; a node of another form is the next row's.
template <size_t kIndex>
Tensors by_row(const Context& c) {
  constexpr const auto& row = std::get<kIndex>(kTable);
  using Row = std::remove_cvref_t<decltype(row)>;
  using F = typename Row::Function;
  constexpr Reference kTakes = Row::Takes::reference;
  if constexpr (!row.facts.form.attribute.empty()) {
    const std::string form = c.node().string_or(row.facts.form.attribute, "");
    if (form != row.facts.form.value) return by_row<kIndex + 1>(c);
  }
  if constexpr (std::is_base_of_v<elementwise::Comparison, F>) {
    return compare<F, kTakes>(c);
  } else if constexpr (std::is_base_of_v<elementwise::Binary, F>) {
    return join<F, kTakes>(c, row.facts);
  } else {
    return map<F, kTakes>(c, row.facts);
  }
}

// ---- written by hand

Tensors identity(const Context& c) { return {c.input(0)}; }

Tensors clip(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    Array<T> x = c.array<T>(0);
    if (c.has(1)) {
      const T low = c.scalar<T>(1);
      for (T& value : x.data) value = two<elementwise::Max>(value, low);
    }
    if (c.has(2)) {
      const T high = c.scalar<T>(2);
      for (T& value : x.data) value = two<elementwise::Min>(value, high);
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
    return {to_tensor(zip<T>(c.array<T>(0), c.array<T>(1), two<elementwise::Pow, T>), dtype)};
  });
}

/// What a division leaves, with the sign of the divisor or, towards zero, of the dividend.
template <typename T>
T remainder(T a, T b, bool to_zero) {
  if constexpr (std::is_integral_v<T>) {
    if (b == T(0)) throw Error("an integer is divided by zero");
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return T(0);  // the lowest has no negative
      const T rest = a % b;
      return rest != 0 && !to_zero && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      return static_cast<T>(a % b);
    }
  } else {
    const T rest = std::fmod(a, b);
    if (to_zero) return rest;
    if (rest == T(0)) return std::copysign(T(0), b);
    return (rest < T(0)) != (b < T(0)) ? rest + b : rest;
  }
}

Tensors modulo(const Context& c) {
  const DType dtype = c.input(0).dtype();
  const bool to_zero = c.node().int_or("fmod", 0) != 0;
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    const auto of_two = [&](T a, T b) { return remainder(a, b, to_zero); };
    return {to_tensor(zip<T>(c.array<T>(0), c.array<T>(1), of_two), dtype)};
  });
}

/// Numbers to numbers, or to and from texts; truth values are 0 and 1.
Tensors cast(const Context& c) {
  const auto target = dtype_from_onnx(c.node().int_or("to", 0));
  if (!target || *target == DType::undefined) throw Error("its attribute 'to' is no element type");
  const Tensor& x = c.input(0);
  const DType to = *target;
  if (to == x.dtype()) return {x};
  if (to == DType::string) return {numbers_to_texts(x)};
  const bool is_narrow = is_float(to) && bits(to) <= 8;
  if (x.dtype() == DType::string) {
    if (!is_narrow) return {texts_to_numbers(x, to)};
    return {cast_to_narrow_float(c.node(), texts_to_numbers(x, DType::f64), to)};
  }
  if (is_narrow) return {cast_to_narrow_float(c.node(), x, to)};
  return compute_as(x.dtype(),
                    [&]<typename T>() -> Tensors { return {to_tensor(c.array<T>(0), to)}; });
}

/// Whether elements of a float type are such.
template <typename Test>
Tensors test(const Context& c, Test is) {
  return compute_as_float(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    Array<uint8_t> y(x.dims);
    std::ranges::transform(x.data, y.data.begin(), [&](T value) { return is(value) ? 1 : 0; });
    return {to_tensor(y, DType::boolean)};
  });
}

Tensors is_nan(const Context& c) {
  return test(c, [](auto x) { return x != x; });
}

Tensors is_infinite(const Context& c) {
  const bool negative = c.node().int_or("detect_negative", 1) != 0;
  const bool positive = c.node().int_or("detect_positive", 1) != 0;
  return test(c, [=](auto x) { return std::isinf(x) && (x < 0 ? negative : positive); });
}

constexpr KernelDef kByHand[] = {
    {"Cast", cast},    {"Clip", clip},  {"Identity", identity}, {"IsInf", is_infinite},
    {"IsNaN", is_nan}, {"Mod", modulo}, {"Pow", power},
};

template <size_t kIndex>
void add_kernel(std::vector<KernelDef>& all) {
  constexpr const auto& row = std::get<kIndex>(kTable);
  if constexpr (std::remove_cvref_t<decltype(row)>::Takes::reference != Reference::none) {
    // A further form of the same operator is found from the first one's kernel.
    if (!all.empty() && all.back().op == row.facts.op) return;
    all.push_back({row.facts.op, by_row<kIndex>});
  }
}

std::vector<KernelDef> all_kernels() {
  std::vector<KernelDef> all;
  const auto add = [&]<size_t... kIndices>(std::index_sequence<kIndices...>) {
    (add_kernel<kIndices>(all), ...);
  };
  add(std::make_index_sequence<std::tuple_size_v<decltype(kTable)>>());
  all.insert(all.end(), std::begin(kByHand), std::end(kByHand));
  return all;
}

}  // namespace

std::span<const KernelDef> elementwise_kernels() {
  static const std::vector<KernelDef> all = all_kernels();
  return all;
}

}  // namespace onward::eval
