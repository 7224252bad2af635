#include <algorithm>
#include <limits>

#include "eval/families.h"
#include "eval/lines.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// Which axes a reduction runs over: input 1 or, in an older form, none at all.
std::vector<bool> reduced_axes(const Context& c) {
  const auto rank = static_cast<int64_t>(c.input(0).dims().size());
  const std::vector<int64_t> axes = c.integers_or(1, {});
  const bool all = axes.empty() && c.node().int_or("noop_with_empty_axes", 0) == 0;
  std::vector<bool> reduced(static_cast<size_t>(rank), all);
  for (const int64_t axis : axes) reduced[static_cast<size_t>(checked_axis(axis, rank))] = true;
  return reduced;
}

/// Reduces to an Array with every reduced dimension 1; `combine` folds elements in order of memory.
template <typename Result, typename T, typename Combine>
Array<Result> reduce(const Array<T>& x, const std::vector<bool>& reduced, Result start,
                     Combine combine) {
  std::vector<int64_t> dims = x.dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (reduced[d]) dims[d] = 1;
  }
  Array<Result> y(dims, start);
  const auto to = broadcast_indices(dims, x.dims);
  for (size_t i = 0; i < x.data.size(); ++i) {
    Result& result = y.data[static_cast<size_t>(to[i])];
    result = combine(result, x.data[i]);
  }
  return y;
}

template <typename T>
Tensors finished(const Context& c, Array<T> y, const std::vector<bool>& reduced) {
  if (c.node().int_or("keepdims", 1) == 0) {
    std::vector<int64_t> kept;
    for (size_t d = 0; d < reduced.size(); ++d) {
      if (!reduced[d]) kept.push_back(y.dims[d]);
    }
    y.dims = std::move(kept);
  }
  return {to_tensor(y, c.input(0).dtype())};
}

Tensors reduce_sum(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const auto reduced = reduced_axes(c);
    return finished(c, reduce<T>(c.array<T>(0), reduced, T(0), plus<T>), reduced);
  });
}

__extension__ using TwiceTheBits = __int128;

Tensors reduce_mean(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    // A mean of integers is one that the type has, whatever their sum is.
    using Sum = std::conditional_t<std::is_integral_v<T>, TwiceTheBits, T>;
    const auto reduced = reduced_axes(c);
    const Array<T> x = c.array<T>(0);
    const auto sums =
        reduce<Sum>(x, reduced, Sum(0), [](Sum a, T b) { return a + static_cast<Sum>(b); });
    const int64_t count = sums.size() == 0 ? 1 : x.size() / sums.size();
    // Of floats it is NaN.
    if (std::is_integral_v<T> && count == 0) throw Error("there is no mean of no integers");
    Array<T> y(sums.dims, T(0));
    std::ranges::transform(sums.data, y.data.begin(),
                           [&](Sum sum) { return static_cast<T>(sum / static_cast<Sum>(count)); });
    return finished(c, std::move(y), reduced);
  });
}

Tensors reduce_prod(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const auto reduced = reduced_axes(c);
    return finished(c, reduce<T>(c.array<T>(0), reduced, T(1), times<T>), reduced);
  });
}

/// The lowest and the highest number of a type: those of fewer bits are computed with in 64.
template <typename T>
struct Ends {
  T low = -std::numeric_limits<T>::infinity(), high = std::numeric_limits<T>::infinity();

  explicit Ends(DType dtype) {
    if constexpr (std::is_integral_v<T>) {
      const int unused = 64 - (dtype == DType::boolean ? 1 : bits(dtype));
      const bool is_signed =
          dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
      low = is_signed ? static_cast<T>(std::numeric_limits<int64_t>::lowest() >> unused) : T(0);
      high = is_signed ? static_cast<T>(std::numeric_limits<int64_t>::max() >> unused)
                       : static_cast<T>(std::numeric_limits<uint64_t>::max() >> unused);
    }
  }
};

Tensors reduce_max(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const auto reduced = reduced_axes(c);
    const T low = Ends<T>(c.input(0).dtype()).low;
    return finished(
        c, reduce<T>(c.array<T>(0), reduced, low, [](T a, T b) { return a != a || a > b ? a : b; }),
        reduced);
  });
}

Tensors reduce_min(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const auto reduced = reduced_axes(c);
    const T high = Ends<T>(c.input(0).dtype()).high;
    return finished(
        c,
        reduce<T>(c.array<T>(0), reduced, high, [](T a, T b) { return a != a || a < b ? a : b; }),
        reduced);
  });
}

/// Where along an axis the largest (or smallest) element is, the first or the last one of several;
/// NaN is the largest and the smallest, as in NumPy.
template <bool kLargest>
Tensors place_of_extreme(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    const int64_t axis = c.axis("axis", 0, x.rank());
    const bool takes_last = c.node().int_or("select_last_index", 0) != 0;
    const auto wins = [&](T a, T b) {
      if (a != a || b != b) return a != a && (b == b || takes_last);
      return (kLargest ? a > b : a < b) || (takes_last && a == b);
    };
    const Lines lines(x.dims, axis);
    std::vector<int64_t> dims = x.dims;
    dims[static_cast<size_t>(axis)] = 1;
    Array<int64_t> y(dims);
    if (lines.length == 0 && y.size() > 0) throw Error("it is to find one of no elements");
    for (int64_t line = 0; line < y.size(); ++line) {
      for (int64_t i = 1; i < lines.length; ++i) {
        if (wins(x[lines.at(line, i)], x[lines.at(line, y[line])])) y[line] = i;
      }
    }
    if (c.node().int_or("keepdims", 1) == 0) y.dims.erase(y.dims.begin() + axis);
    return {to_tensor(y, DType::i64)};
  });
}

constexpr KernelDef kReductionKernels[] = {
    {"ArgMax", place_of_extreme<true>}, {"ArgMin", place_of_extreme<false>},
    {"ReduceMax", reduce_max},          {"ReduceMin", reduce_min},
    {"ReduceProd", reduce_prod},        {"ReduceMean", reduce_mean},
    {"ReduceSum", reduce_sum},
};

}  // namespace

std::span<const KernelDef> reduction_kernels() { return kReductionKernels; }

}  // namespace onward::eval
