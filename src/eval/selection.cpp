#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "eval/families.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// A total order of numbers in which NaN is the largest, and all NaN are equal.
template <typename T>
bool is_below(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b != b) return a == a;
    if (a != a) return false;
  }
  return a < b;
}

Tensors top_k(const Context& c) {
  const DType dtype = c.input(0).dtype();
  const auto k = c.scalar<int64_t>(1);
  const bool largest = c.node().int_or("largest", 1) != 0;
  return compute_as(dtype, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0);
    const auto axis = static_cast<size_t>(c.axis("axis", -1, x.rank()));
    const int64_t size = x.dims[axis];
    if (k < 0 || k > size) {
      throw Error(fmt::format("k is {}, but the dimension has {} elements", k, size));
    }
    const std::span<const int64_t> all(x.dims);
    const int64_t outer = checked_element_count(all.first(axis));
    const int64_t inner = checked_element_count(all.subspan(axis + 1));
    std::vector<int64_t> dims = x.dims;
    dims[axis] = k;
    Array<T> chosen(dims);
    Array<int64_t> indices(dims);
    std::vector<int64_t> order(static_cast<size_t>(size));
    for (int64_t row = 0; row < outer * inner; ++row) {
      const int64_t begin = row / inner * size * inner + row % inner;
      const int64_t to = row / inner * k * inner + row % inner;
      const auto at = [&](int64_t i) { return x[begin + i * inner]; };
      std::iota(order.begin(), order.end(), 0);
      // Of those that tie the first one is first.
      std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](int64_t a, int64_t b) {
        const T left = at(a), right = at(b);
        if (is_below(left, right)) return !largest;
        if (is_below(right, left)) return largest;
        return a < b;
      });
      for (int64_t i = 0; i < k; ++i) {
        chosen[to + i * inner] = at(order[static_cast<size_t>(i)]);
        indices[to + i * inner] = order[static_cast<size_t>(i)];
      }
    }
    return {to_tensor(chosen, dtype), to_tensor(indices, DType::i64)};
  });
}

/// Rows of a matrix of elements of one type.
template <typename T>
struct Rows {
  std::vector<T> elements;
  int64_t length;

  std::span<const T> operator[](int64_t row) const {
    return std::span<const T>(elements).subspan(static_cast<size_t>(row * length),
                                                static_cast<size_t>(length));
  }
  bool less(int64_t a, int64_t b) const {
    return std::ranges::lexicographical_compare((*this)[a], (*this)[b], is_below<T>);
  }
};

/// The rows that differ, as where each is met first, in order; and of every row which one it is.
struct Distinct {
  std::vector<int64_t> first, which, counts;
};

template <typename T>
Distinct distinct_rows(const Rows<T>& rows, int64_t count, bool sorted) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(
      order, [&](int64_t a, int64_t b) { return rows.less(a, b) || (!rows.less(b, a) && a < b); });
  Distinct found;
  found.which.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || rows.less(order[i - 1], order[i])) {
      found.first.push_back(order[i]);
      found.counts.push_back(0);
    }
    ++found.counts.back();
    found.which[static_cast<size_t>(order[i])] = static_cast<int64_t>(found.first.size()) - 1;
  }
  if (sorted) return found;
  std::vector<int64_t> met(found.first.size()), place(found.first.size());
  std::iota(met.begin(), met.end(), 0);
  std::ranges::sort(met, {}, [&](int64_t i) { return found.first[static_cast<size_t>(i)]; });
  Distinct by_meeting;
  for (size_t i = 0; i < met.size(); ++i) {
    const auto old = static_cast<size_t>(met[i]);
    by_meeting.first.push_back(found.first[old]);
    by_meeting.counts.push_back(found.counts[old]);
    place[old] = static_cast<int64_t>(i);
  }
  for (const int64_t old : found.which) {
    by_meeting.which.push_back(place[static_cast<size_t>(old)]);
  }
  return by_meeting;
}

/// A tensor along an axis as rows, or its elements one by one; with the index of each element.
struct RowLayout {
  int64_t count = 0, length = 1;
  std::vector<int64_t> elements;
};

RowLayout rows_along(std::span<const int64_t> dims, std::optional<size_t> axis) {
  const int64_t all = checked_element_count(dims);
  if (!axis) {
    RowLayout flat{.count = all};
    flat.elements.resize(static_cast<size_t>(all));
    std::iota(flat.elements.begin(), flat.elements.end(), 0);
    return flat;
  }
  const int64_t size = dims[*axis], inner = checked_element_count(dims.subspan(*axis + 1));
  const int64_t outer = checked_element_count(dims.first(*axis));
  RowLayout layout{.count = size, .length = outer * inner};
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        layout.elements.push_back((o * size + row) * inner + i);
      }
    }
  }
  return layout;
}

Tensor list_of(const std::vector<int64_t>& numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  return Tensor::of<int64_t>({count}, numbers);
}

Tensors unique(const Context& c) {
  const Tensor& x = c.input(0);
  std::optional<size_t> axis;
  if (c.node().get<int64_t>("axis")) {
    axis = static_cast<size_t>(c.axis("axis", 0, static_cast<int64_t>(x.dims().size())));
  }
  const bool sorted = c.node().int_or("sorted", 1) != 0;
  const RowLayout layout = rows_along(x.dims(), axis);
  const auto find = [&]<typename T>(const std::vector<T>& data) {
    Rows<T> rows{.elements = {}, .length = layout.length};
    for (const int64_t element : layout.elements) {
      rows.elements.push_back(data[static_cast<size_t>(element)]);
    }
    return distinct_rows(rows, layout.count, sorted);
  };
  const Distinct found =
      x.dtype() == DType::string
          ? find(x.strings())
          : compute_as(x.dtype(), [&]<typename T>() { return find(c.array<T>(0).data); });
  std::vector<int64_t> dims = {static_cast<int64_t>(found.first.size())};
  if (axis) {
    dims = x.dims();
    dims[*axis] = static_cast<int64_t>(found.first.size());
  }
  std::vector<int64_t> from(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))));
  const RowLayout results = rows_along(dims, axis);
  for (size_t row = 0; row < found.first.size(); ++row) {
    const auto length = static_cast<size_t>(layout.length);
    for (size_t i = 0; i < length; ++i) {
      from[static_cast<size_t>(results.elements[row * length + i])] =
          layout.elements[static_cast<size_t>(found.first[row]) * length + i];
    }
  }
  return {take_elements(x, std::move(dims), from), list_of(found.first), list_of(found.which),
          list_of(found.counts)};
}

struct Box {
  float y1, x1, y2, x2;

  float area() const { return (x2 - x1) * (y2 - y1); }
};

/// Corners in any order, or a center and its sizes.
Box box_of(std::span<const float> numbers, bool by_center) {
  const float a = numbers[0], b = numbers[1], p = numbers[2], q = numbers[3];
  if (by_center) return {b - q / 2, a - p / 2, b + q / 2, a + p / 2};
  return {std::min(a, p), std::min(b, q), std::max(a, p), std::max(b, q)};
}

bool overlaps(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(width > 0 && height > 0) || a.area() <= 0 || b.area() <= 0) return false;
  const float common = width * height, both = a.area() + b.area() - common;
  return both > 0 && common / both > threshold;
}

Tensors non_max_suppression(const Context& c) {
  const Array<float> boxes = c.array<float>(0), scores = c.array<float>(1);
  const bool by_center = c.node().int_or("center_point_box", 0) != 0;
  const int64_t most = c.has(2) && c.input(2).size() > 0 ? c.scalar<int64_t>(2) : 0;
  const float overlap = c.has(3) && c.input(3).size() > 0 ? c.scalar<float>(3) : 0;
  const bool has_least = c.has(4) && c.input(4).size() > 0;
  const float least = has_least ? c.scalar<float>(4) : 0;
  const int64_t classes = scores.dims[1], count = boxes.dims[1];
  std::vector<int64_t> selected;
  for (int64_t row = 0; row < scores.dims[0] * classes; ++row) {
    const std::span<const float> own =
        std::span<const float>(scores.data)
            .subspan(static_cast<size_t>(row * count), static_cast<size_t>(count));
    const auto box = [&](int64_t i) {
      const auto begin = static_cast<size_t>((row / classes * count + i) * 4);
      return box_of(std::span<const float>(boxes.data).subspan(begin, 4), by_center);
    };
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count; ++i) {
      if (!has_least || own[static_cast<size_t>(i)] > least) order.push_back(i);
    }
    std::ranges::sort(order, [&](int64_t a, int64_t b) {
      const auto x = own[static_cast<size_t>(a)], y = own[static_cast<size_t>(b)];
      return is_below(y, x) || (!is_below(x, y) && a < b);
    });
    std::vector<Box> kept;
    for (const int64_t i : order) {
      if (static_cast<int64_t>(kept.size()) >= most) break;
      const Box candidate = box(i);
      const auto hides = [&](const Box& other) { return overlaps(candidate, other, overlap); };
      if (std::ranges::any_of(kept, hides)) continue;
      kept.push_back(candidate);
      selected.insert(selected.end(), {row / classes, row % classes, i});
    }
  }
  return {Tensor::of<int64_t>({static_cast<int64_t>(selected.size()) / 3, 3}, selected)};
}

constexpr KernelDef kSelectionKernels[] = {
    {"NonMaxSuppression", non_max_suppression},
    {"TopK", top_k},
    {"Unique", unique},
};

}  // namespace

std::span<const KernelDef> selection_kernels() { return kSelectionKernels; }

}  // namespace onward::eval
