#include "eval/families.h"
#include "eval/lines.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// All elements of each line up to a place joined, with that place or without it.
template <typename T, typename Join>
Tensors accumulate(const Context& c, T start, Join join) {
  const Array<T> x = c.array<T>(0);
  const Lines lines(x.dims, checked_axis(c.scalar<int64_t>(1), x.rank()));
  const bool exclusive = c.node().int_or("exclusive", 0) != 0;
  const bool reverse = c.node().int_or("reverse", 0) != 0;
  Array<T> y(x.dims);
  for (int64_t line = 0; y.size() > 0 && line < lines.count; ++line) {
    T total = start;
    for (int64_t i = 0; i < lines.length; ++i) {
      const int64_t at = lines.at(line, reverse ? lines.length - 1 - i : i);
      const T before = total;
      total = join(total, x[at]);
      y[at] = exclusive ? before : total;
    }
  }
  return {to_tensor(y, c.input(0).dtype())};
}

Tensors cum_sum(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() { return accumulate(c, T(0), plus<T>); });
}

Tensors cum_prod(const Context& c) {
  return compute_as(c.input(0).dtype(),
                    [&]<typename T>() { return accumulate(c, T(1), times<T>); });
}

constexpr KernelDef kCumulativeKernels[] = {
    {"CumProd", cum_prod},
    {"CumSum", cum_sum},
};

}  // namespace

std::span<const KernelDef> cumulative_kernels() { return kCumulativeKernels; }

}  // namespace onward::eval
