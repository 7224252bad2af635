#include <fmt/format.h>

#include <algorithm>

#include "eval/families.h"
#include "eval/indices.h"
#include "eval/pieces.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// Slices of a tensor that tuples of indices point to: where each begins, and how many elements it
/// has.
struct Slices {
  std::vector<int64_t> begins;
  int64_t count = 1;
};

/// The last dimension of `indices` has the tuples; the first `batch` dimensions of both tensors are
/// the same.
Slices indexed_slices(const Tensor& indices, std::span<const int64_t> dims, int64_t batch) {
  const auto& own = indices.dims();
  const auto rank = static_cast<int64_t>(dims.size());
  if (own.empty()) throw Error("indices have rank 0");
  const int64_t length = own.back();
  if (batch < 0 || batch >= static_cast<int64_t>(own.size()) || batch + length > rank) {
    throw Error(fmt::format("tuples of {} indices behind {} dimensions do not fit rank {}", length,
                            batch, rank));
  }
  const auto first = static_cast<size_t>(batch), last = static_cast<size_t>(batch + length);
  if (!std::equal(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(first), own.begin())) {
    throw Error("the dimensions of a batch differ");
  }
  Slices slices{.begins = {}, .count = checked_element_count(dims.subspan(last))};
  const auto strides = strides_of(dims);
  const std::span<const int64_t> tuples = std::span<const int64_t>(own).first(own.size() - 1);
  const int64_t in_batch = checked_element_count(tuples.subspan(first));
  const int64_t batch_stride = checked_element_count(dims.subspan(first));
  const int64_t count = checked_element_count(tuples);
  const std::vector<int64_t> numbers = indices.integers();
  for (int64_t t = 0; t < count; ++t) {
    int64_t begin = t / in_batch * batch_stride;
    for (int64_t k = 0; k < length; ++k) {
      const auto d = first + static_cast<size_t>(k);
      begin += checked_index(numbers[static_cast<size_t>(t * length + k)], dims[d]) * strides[d];
    }
    slices.begins.push_back(begin);
  }
  return slices;
}

/// All elements of the slices, one after the other.
std::vector<int64_t> elements_of(const Slices& slices) {
  std::vector<int64_t> elements;
  elements.reserve(slices.begins.size() * static_cast<size_t>(slices.count));
  for (const int64_t begin : slices.begins) {
    for (int64_t i = 0; i < slices.count; ++i) elements.push_back(begin + i);
  }
  return elements;
}

Tensors gather_nd(const Context& c) {
  const Tensor &x = c.input(0), &indices = c.input(1);
  const int64_t batch = c.node().int_or("batch_dims", 0);
  const Slices slices = indexed_slices(indices, x.dims(), batch);
  std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), x.dims().begin() + batch + indices.dims().back(), x.dims().end());
  return {take_elements(x, std::move(dims), elements_of(slices))};
}

/// Of numbers, the larger one; NaN is larger than all, and smaller than all.
template <typename T>
T reduced(const std::string& reduction, T a, T b) {
  if (reduction == "add") return plus(a, b);
  if (reduction == "mul") return times(a, b);
  if (a != a) return a;
  if (b != b) return b;
  if (reduction == "max") return a < b ? b : a;
  if (reduction == "min") return b < a ? b : a;
  throw Error(fmt::format("there is no reduction '{}'", reduction));
}

/// x with each update at its flat index, in order.
Tensor with_updates(const Tensor& x, const Tensor& updates, std::span<const int64_t> to,
                    const std::string& reduction) {
  if (static_cast<int64_t>(to.size()) != updates.size()) {
    throw Error(fmt::format("{} updates for {} places", updates.size(), to.size()));
  }
  if (reduction == "none") {  // of any type
    std::vector<int64_t> from(static_cast<size_t>(x.size()));
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int64_t>(i);
    for (size_t i = 0; i < to.size(); ++i) {
      from[static_cast<size_t>(to[i])] = x.size() + static_cast<int64_t>(i);
    }
    const Tensor* parts[] = {&x, &updates};
    return take_elements(joined(parts), x.dims(), from);
  }
  return compute_as(x.dtype(), [&]<typename T>() {
    Array<T> y = to_array<T>(x);
    const Array<T> u = to_array<T>(updates);
    for (size_t i = 0; i < to.size(); ++i) y[to[i]] = reduced(reduction, y[to[i]], u.data[i]);
    return to_tensor(y, x.dtype());
  });
}

Tensors scatter_elements(const Context& c) {
  const auto& dims = c.input(0).dims();
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(dims.size())));
  return {with_updates(c.input(0), c.input(2), replaced_along(c.input(1), dims, axis),
                       c.node().string_or("reduction", "none"))};
}

Tensors scatter_nd(const Context& c) {
  const Slices slices = indexed_slices(c.input(1), c.input(0).dims(), 0);
  return {with_updates(c.input(0), c.input(2), elements_of(slices),
                       c.node().string_or("reduction", "none"))};
}

constexpr KernelDef kScatterKernels[] = {
    {"GatherND", gather_nd},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
};

}  // namespace

std::span<const KernelDef> scatter_kernels() { return kScatterKernels; }

}  // namespace onward::eval
