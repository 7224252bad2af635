#include <algorithm>
#include <limits>

#include "eval/families.h"

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

/// The largest of no integers: those of fewer bits are computed with in 64.
int64_t lowest_integer(DType dtype) {
  const bool is_signed =
      dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
  return is_signed ? std::numeric_limits<int64_t>::lowest() >> (64 - bits(dtype)) : 0;
}

Tensors reduce_max(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const auto reduced = reduced_axes(c);
    const T lowest = std::is_floating_point_v<T>
                         ? -std::numeric_limits<T>::infinity()
                         : static_cast<T>(lowest_integer(c.input(0).dtype()));
    return finished(
        c,
        reduce<T>(c.array<T>(0), reduced, lowest, [](T a, T b) { return a != a || a > b ? a : b; }),
        reduced);
  });
}

constexpr KernelDef kReductionKernels[] = {
    {"ReduceMax", reduce_max},
    {"ReduceProd", reduce_prod},
    {"ReduceMean", reduce_mean},
    {"ReduceSum", reduce_sum},
};

}  // namespace

std::span<const KernelDef> reduction_kernels() { return kReductionKernels; }

}  // namespace onward::eval
