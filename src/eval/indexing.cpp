#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eval/families.h"
#include "eval/indices.h"
#include "eval/pieces.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

Tensors concat(const Context& c) {
  std::vector<const Tensor*> parts;
  for (size_t i = 0; i < c.inputs(); ++i) parts.push_back(&c.input(i));
  return {concatenated(parts, c.node().int_or("axis", 0))};
}

/// The begin, step and length of a slice along one axis, after the standard's rules for clamping.
struct AxisSlice {
  int64_t begin = 0, step = 1, length = 0;
};

AxisSlice axis_slice(int64_t start, int64_t end, int64_t step, int64_t dim) {
  if (step == 0) throw Error("a step is 0");
  const auto from_front = [dim](int64_t at) { return at < 0 ? at + dim : at; };
  if (step > 0) {
    const int64_t begin = std::clamp<int64_t>(from_front(start), 0, dim);
    const int64_t stop = std::clamp<int64_t>(from_front(end), 0, dim);
    return {begin, step, stop > begin ? (stop - begin - 1) / step + 1 : 0};
  }
  // A begin before the first element is the first one; with no elements there is nothing to clamp
  // to.
  const int64_t begin = std::min(std::max<int64_t>(from_front(start), 0), dim - 1);
  const int64_t stop = std::clamp<int64_t>(from_front(end), -1, dim - 1);
  // Written so that the smallest step there is does not overflow when it is negated.
  return {begin, step, begin > stop ? (stop - begin + 1) / step + 1 : 0};
}

Tensors slice(const Context& c) {
  const Tensor& x = c.input(0);
  const auto rank = static_cast<int64_t>(x.dims().size());
  const auto starts = c.input(1).integers(), ends = c.input(2).integers();
  std::vector<int64_t> first_axes(starts.size());
  std::iota(first_axes.begin(), first_axes.end(), 0);
  const auto axes = c.integers_or(3, first_axes);
  const auto steps = c.integers_or(4, std::vector<int64_t>(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    throw Error("starts, ends, axes and steps differ in length");
  }
  std::vector<AxisSlice> slices;
  for (const int64_t dim : x.dims()) slices.push_back({0, 1, dim});
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<size_t>(checked_axis(axes[i], rank));
    slices[axis] = axis_slice(starts[i], ends[i], steps[i], x.dims()[axis]);
  }
  const auto strides = strides_of(x.dims());
  std::vector<int64_t> dims;
  for (const AxisSlice& each : slices) dims.push_back(each.length);
  std::vector<int64_t> indices(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))));
  for_each_position(dims, [&](std::span<const int64_t> position, int64_t i) {
    int64_t index = 0;
    for (size_t d = 0; d < position.size(); ++d) {
      index += (slices[d].begin + position[d] * slices[d].step) * strides[d];
    }
    indices[static_cast<size_t>(i)] = index;
  });
  return {take_elements(x, std::move(dims), indices)};
}

Tensors where(const Context& c) {
  const Tensor &condition = c.input(0), &yes = c.input(1), &no = c.input(2);
  const auto dims = broadcast_shape(condition.dims(), broadcast_shape(yes.dims(), no.dims()));
  const auto of_condition = broadcast_indices(condition.dims(), dims);
  auto indices = broadcast_indices(yes.dims(), dims);
  const auto of_no = broadcast_indices(no.dims(), dims);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (condition.integer(of_condition[i]) == 0) indices[i] = yes.size() + of_no[i];
  }
  const Tensor* parts[] = {&yes, &no};
  return {take_elements(joined(parts), dims, indices)};
}

Tensors nonzero(const Context& c) {
  return compute_as(c.input(0).dtype(), [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    std::vector<std::vector<int64_t>> found(x.dims.size());
    for_each_position(x.dims, [&](std::span<const int64_t> position, int64_t i) {
      if (x[i] == T(0)) return;
      for (size_t d = 0; d < position.size(); ++d) found[d].push_back(position[d]);
    });
    const int64_t count = found.empty() ? 0 : static_cast<int64_t>(found[0].size());
    std::vector<int64_t> all;
    for (const auto& axis : found) all.insert(all.end(), axis.begin(), axis.end());
    return {Tensor::of<int64_t>({x.rank(), count}, all)};
  });
}

/// How many numbers there are from `start` on before `limit`; of integers exactly.
template <typename T>
double range_length(T start, T limit, T delta) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                     static_cast<double>(delta));
  } else {
    const bool up = delta > T(0);
    if (up ? limit <= start : limit >= start) return 0;
    const auto apart = [](T low, T high) {
      return static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    };
    const uint64_t way = up ? apart(start, limit) : apart(limit, start);
    const uint64_t step = up ? apart(T(0), delta) : apart(delta, T(0));
    const uint64_t numbers = way / step + (way % step != 0 ? 1 : 0);
    return static_cast<double>(numbers);
  }
}

Tensors range(const Context& c) {
  const DType dtype = c.input(0).dtype();
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    const T start = c.scalar<T>(0), limit = c.scalar<T>(1), delta = c.scalar<T>(2);
    if (delta == T(0)) throw Error("the step of a range is 0");
    const double count = range_length(start, limit, delta);
    if (!(count <= 1e9)) throw Error(fmt::format("a range of {} numbers", count));
    Array<T> y({count < 0 ? 0 : static_cast<int64_t>(count)});
    for (int64_t i = 0; i < y.size(); ++i) {
      y[i] = plus(start, times(static_cast<T>(i), delta));
    }
    return {to_tensor(y, dtype)};
  });
}

Tensors gather(const Context& c) {
  const Tensor &x = c.input(0), &picked = c.input(1);
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.dims().size())));
  const std::span<const int64_t> all(x.dims());
  const int64_t outer = checked_element_count(all.first(axis));
  const int64_t inner = checked_element_count(all.subspan(axis + 1));
  std::vector<int64_t> dims(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), picked.dims().begin(), picked.dims().end());
  dims.insert(dims.end(), all.begin() + static_cast<std::ptrdiff_t>(axis) + 1, all.end());
  const std::vector<int64_t> indices = picked.integers();
  std::vector<int64_t> from;
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t index : indices) {
      const int64_t at = o * all[axis] + checked_index(index, all[axis]);
      for (int64_t i = 0; i < inner; ++i) from.push_back(at * inner + i);
    }
  }
  return {take_elements(x, std::move(dims), from)};
}

Tensors gather_elements(const Context& c) {
  const Tensor &x = c.input(0), &indices = c.input(1);
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.dims().size())));
  return {take_elements(x, indices.dims(), replaced_along(indices, x.dims(), axis))};
}

Tensors split(const Context& c) {
  const Tensor& x = c.input(0);
  const auto axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.dims().size())));
  const int64_t size = x.dims()[axis];
  const auto count = static_cast<int64_t>(c.node().outputs().size());
  std::vector<int64_t> lengths = c.integers_or(1, {});
  if (!c.has(1)) {
    // Equal parts, the last one smaller where they do not come out even.
    const int64_t part = (size + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) {
      lengths.push_back(std::max<int64_t>(0, std::min(part, size - i * part)));
    }
  }
  if (std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) != size ||
      static_cast<int64_t>(lengths.size()) != count) {
    throw Error(fmt::format("a dimension of {} can't be split into {} parts of {}", size, count,
                            to_string(lengths)));
  }
  const std::span<const int64_t> all(x.dims());
  const int64_t outer = checked_element_count(all.first(axis));
  const int64_t inner = checked_element_count(all.subspan(axis + 1));
  Tensors parts;
  int64_t begin = 0;
  for (const int64_t length : lengths) {
    std::vector<int64_t> from;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < length * inner; ++i) from.push_back((o * size + begin) * inner + i);
    }
    std::vector<int64_t> dims = x.dims();
    dims[axis] = length;
    parts.push_back(take_elements(x, std::move(dims), from));
    begin += length;
  }
  return parts;
}

/// The index along a dimension that a padded position takes, or -1 for the constant.
int64_t padded_index(int64_t at, int64_t size, const std::string& mode) {
  if (at >= 0 && at < size) return at;
  if (mode == "constant") return -1;
  if (size == 0) throw Error("an empty dimension has nothing to pad with");
  if (mode == "edge") return at < 0 ? 0 : size - 1;
  if (mode == "wrap") return ((at % size) + size) % size;
  if (mode != "reflect") throw Error(fmt::format("there is no mode '{}'", mode));
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t folded = ((at % period) + period) % period;
  return folded < size ? folded : period - folded;
}

Tensors pad(const Context& c) {
  const Tensor& x = c.input(0);
  const auto rank = x.dims().size();
  const auto pads = c.input(1).integers();
  std::vector<int64_t> every(rank);
  std::iota(every.begin(), every.end(), 0);
  const auto axes = c.integers_or(3, every);
  if (pads.size() != 2 * axes.size()) throw Error("pads and axes differ in length");
  std::vector<int64_t> before(rank, 0), dims = x.dims();
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(checked_axis(axes[i], static_cast<int64_t>(rank)));
    before[axis] = pads[i];
    dims[axis] += pads[i] + pads[i + axes.size()];
  }
  const std::string mode = c.node().string_or("mode", "constant");
  const auto strides = strides_of(x.dims());
  std::vector<int64_t> from(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))));
  for_each_position(dims, [&](std::span<const int64_t> position, int64_t i) {
    int64_t flat = 0;
    for (size_t d = 0; d < rank && flat >= 0; ++d) {
      const int64_t at = padded_index(position[d] - before[d], x.dims()[d], mode);
      flat = at < 0 ? -1 : flat + at * strides[d];
    }
    from[static_cast<size_t>(i)] = flat;
  });
  if (c.has(2) && c.input(2).size() != 1)
    throw Error("there is more or less than one value to pad with");
  const Tensor zero = x.dtype() == DType::string
                          ? Tensor::of_strings({}, {""})
                          : to_tensor(Array<double>(std::vector<int64_t>{}), x.dtype());
  return {take_elements(x, std::move(dims), from, c.has(2) ? &c.input(2) : &zero)};
}

Tensors one_hot(const Context& c) {
  const Tensor& off_on = c.input(2);
  const auto depth = c.scalar<int64_t>(1);
  if (depth < 1) throw Error(fmt::format("a depth of {}", depth));
  if (off_on.size() != 2) throw Error(fmt::format("{} values for off and on", off_on.size()));
  std::vector<int64_t> dims = c.input(0).dims();
  const auto axis = static_cast<size_t>(c.axis("axis", -1, static_cast<int64_t>(dims.size()) + 1));
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const auto strides = strides_of(c.input(0).dims());
  std::vector<int64_t> from(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))));
  for_each_position(dims, [&](std::span<const int64_t> position, int64_t i) {
    int64_t label = 0;
    for (size_t d = 0, at = 0; d < position.size(); ++d) {
      if (d != axis) label += position[d] * strides[at++];
    }
    auto chosen = to_integer<int64_t>(c.input(0).number(label));
    if (chosen < 0) chosen += depth;
    from[static_cast<size_t>(i)] = position[axis] == chosen ? 1 : 0;
  });
  return {take_elements(off_on, std::move(dims), from)};
}

Tensors constant_of_shape(const Context& c) {
  const auto* given = c.node().get<Tensor>("value");
  const Tensor value = given ? *given : Tensor::of<float>({1}, {0.0F});
  if (value.size() != 1) throw Error(fmt::format("a value of {} elements", value.size()));
  const auto dims = c.input(0).integers();
  const std::vector<int64_t> first(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))),
                                   0);
  return {take_elements(value, dims, first)};
}

constexpr KernelDef kIndexingKernels[] = {
    {"ConstantOfShape", constant_of_shape},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"OneHot", one_hot},
    {"Pad", pad},
    {"Split", split},
    {"Concat", concat},
    {"NonZero", nonzero},
    {"Range", range},
    {"Slice", slice},
    {"Where", where},
};

}  // namespace

std::span<const KernelDef> indexing_kernels() { return kIndexingKernels; }

}  // namespace onward::eval
