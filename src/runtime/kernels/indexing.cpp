// Gather of whole slices, and the sums that are the backward of operators that pick elements.

#include <algorithm>
#include <cstring>

#include "onward/error.h"
#include "runtime/kernel.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

constexpr double kPickedByteCost = 0.1,
                 kPickedSumCost = 1;  // nanoseconds for a byte moved, a number added

/// A tensor as [outer, rows, inner], of which indices pick rows, and the picked as [outer, count,
/// inner].
struct PickedRows {
  int64_t outer = 1, rows = 1, inner = 1, count = 1;
};

PickedRows rows_of(std::span<const int64_t> dims, int64_t axis, std::span<const int64_t> indices) {
  const auto along =
      static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis);
  return {.outer = checked_element_count(dims.first(along)),
          .rows = dims[along],
          .inner = checked_element_count(dims.subspan(along + 1)),
          .count = checked_element_count(indices)};
}

Reason refuses_indices(const Node& node) {
  const DType index = node.input(1)->type.dtype;
  return index == DType::i64 || index == DType::i32 ? "" : "indices are neither i32 nor i64";
}

template <typename Index>
void check_indices(const Index* at, const PickedRows& r) {
  for (int64_t i = 0; i < r.count; ++i) {
    if (at[i] < -r.rows || at[i] >= r.rows) {
      throw Error("index " + std::to_string(at[i]) + " is out of range for " +
                  std::to_string(r.rows) + " rows");
    }
  }
}

/// Whole images can be picked as they lie.
Layout layout_of_rows(const Site& site, int64_t axis) {
  const bool whole = axis == 0 && site.input_dims(1).size() == 1 && site.input_dims(0).size() > 2;
  return whole ? site.layout_of(0) : Layout::plain;
}

Reason refuses_gather(const Node& node) {
  if (bits(node.output(0)->type.dtype) % 8 != 0) return "elements are smaller than a byte";
  return refuses_indices(node);
}

template <typename Index>
void plan_gather(Site& site) {
  const int64_t axis = site.node().int_or("axis", 0);
  const Layout layout = layout_of_rows(site, axis);
  const PickedRows r = rows_of(site.input_dims(0), axis, site.input_dims(1));
  const size_t bytes = static_cast<size_t>(r.inner * bits(site.dtype()) / 8);
  const SlotIndex x = site.input(0, layout), indices = site.input(1), y = site.output(0, layout);
  site.action([=](const Run& run) {
    const Index* at = run.at<Index>(indices);
    check_indices(at, r);
    if (bytes == 0) return;
    const std::byte* from = run.at<std::byte>(x);
    std::byte* to = run.at<std::byte>(y);
    const auto copy = [&](int64_t first, int64_t last, auto size) {
      for (int64_t i = first; i < last; ++i) {
        const Index index = at[i % r.count];
        const int64_t row = (i / r.count) * r.rows + (index < 0 ? index + r.rows : index);
        std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(row) * size,
                    size);
      }
    };
    parallel_for(r.outer * r.count, std::max(1.0, static_cast<double>(bytes) * kPickedByteCost),
                 [&](int64_t first, int64_t last) {
                   // A size that the compiler knows makes a copy of one number an instruction.
                   if (bytes == 4) return copy(first, last, std::integral_constant<size_t, 4>());
                   if (bytes == 8) return copy(first, last, std::integral_constant<size_t, 8>());
                   copy(first, last, bytes);
                 });
  });
}

void make_gather(Site& site) {
  site.node().input(1)->type.dtype == DType::i64 ? plan_gather<int64_t>(site)
                                                 : plan_gather<int32_t>(site);
}

Reason refuses_sums(const Node& node) {
  const DType dtype = node.output(0)->type.dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return "neither f32 nor f64";
  return refuses_indices(node);
}

template <typename Body>
void with_sum_types(const Site& site, Body body) {
  const bool wide = site.node().input(1)->type.dtype == DType::i64;
  if (site.dtype() == DType::f32) {
    wide ? body.template operator()<float, int64_t>() : body.template operator()<float, int32_t>();
  } else {
    wide ? body.template operator()<double, int64_t>()
         : body.template operator()<double, int32_t>();
  }
}

/// Each thread adds up columns of its own, in the order of the indices, so that results do not
/// depend on the number of threads.
template <typename T, typename Index>
void plan_gather_grad(Site& site) {
  const int64_t axis = site.node().int_or("axis", 0);
  const Layout layout = layout_of_rows(site, axis);
  const PickedRows r = rows_of(site.output_dims(0), axis, site.input_dims(1));
  const SlotIndex dy = site.input(0, layout), indices = site.input(1), dx = site.output(0, layout);
  site.action([=](const Run& run) {
    const Index* at = run.at<Index>(indices);
    check_indices(at, r);
    const T* from = run.at<T>(dy);
    T* to = run.at<T>(dx);
    const auto add = [&](int64_t outer, int64_t first, int64_t last) {
      T* part = to + outer * r.rows * r.inner;
      const T* given = from + outer * r.count * r.inner;
      for (int64_t row = 0; row < r.rows; ++row) {
        std::fill(part + row * r.inner + first, part + row * r.inner + last, T(0));
      }
      for (int64_t i = 0; i < r.count; ++i) {
        const int64_t row = at[i] < 0 ? at[i] + r.rows : at[i];
        for (int64_t k = first; k < last; ++k) part[row * r.inner + k] += given[i * r.inner + k];
      }
    };
    const double cost = kPickedSumCost * static_cast<double>(r.rows + r.count);
    if (r.outer != 1) {
      return parallel_for(r.outer, cost * static_cast<double>(r.inner),
                          [&](int64_t first, int64_t last) {
                            for (int64_t o = first; o < last; ++o) add(o, 0, r.inner);
                          });
    }
    parallel_for(r.inner, cost, [&](int64_t first, int64_t last) { add(0, first, last); });
  });
}

/// By flat indices, of which negative ones go nowhere.
template <typename T, typename Index>
void plan_scatter_add(Site& site) {
  const int64_t count = checked_element_count(site.input_dims(1));
  const int64_t places = checked_element_count(site.output_dims(0));
  const SlotIndex x = site.input(0), indices = site.input(1), y = site.output(0);
  site.action([=](const Run& run) {
    const Index* at = run.at<Index>(indices);
    for (int64_t i = 0; i < count; ++i) {
      if (at[i] >= places) throw Error("index " + std::to_string(at[i]) + " is out of range");
    }
    const T* from = run.at<T>(x);
    T* to = run.at<T>(y);
    std::fill_n(to, places, T(0));
    for (int64_t i = 0; i < count; ++i) {
      if (at[i] >= 0) to[at[i]] += from[i];
    }
  });
}

void make_gather_grad(Site& site) {
  with_sum_types(site, [&]<typename T, typename Index>() { plan_gather_grad<T, Index>(site); });
}

void make_scatter_add(Site& site) {
  with_sum_types(site, [&]<typename T, typename Index>() { plan_scatter_add<T, Index>(site); });
}

Reason refuses_scatter_elements(const Node& node) {
  const int width = bits(node.output(0)->type.dtype);
  if (width != 32 && width != 64) return "elements are neither 4 nor 8 bytes";
  if (node.string_or("reduction", "none") != "none") return "elements are combined";
  return refuses_indices(node);
}

/// Where the elements of a part of a tensor lie that begins where the tensor does, counted from
/// there: `part` are the sizes of some dimensions, `whole` those of the tensor.
std::vector<int64_t> offsets_of(std::span<const int64_t> part, std::span<const int64_t> whole) {
  std::vector<int64_t> offsets = {0};
  int64_t step = 1;
  for (size_t d = part.size(); d-- > 0; step *= whole[d]) {
    std::vector<int64_t> more;
    for (int64_t i = 0; i < part[d]; ++i) {
      for (const int64_t offset : offsets) more.push_back(i * step + offset);
    }
    offsets = std::move(more);
  }
  return offsets;
}

/// In the order of the updates, so that of those for one place the last counts. Each thread has
/// places of its own: what differs before the axis.
template <typename Word, typename Index>
void plan_scatter_elements(Site& site) {
  const auto dims = site.input_dims(0), part = site.input_dims(1);
  const int64_t given = site.node().int_or("axis", 0);
  const auto axis =
      static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(dims.size()) : given);
  const std::span<const int64_t> whole(dims), updated(part);
  const PickedRows r{.rows = dims[axis],
                     .inner = checked_element_count(whole.subspan(axis + 1)),
                     .count = part[axis]};
  const size_t bytes = static_cast<size_t>(checked_element_count(dims)) * sizeof(Word);
  const SlotIndex x = site.input(0), indices = site.input(1), updates = site.input(2);
  const SlotIndex y = site.output(0);
  site.action([=, outer = offsets_of(updated.first(axis), whole.first(axis)),
               inner =
                   offsets_of(updated.subspan(axis + 1), whole.subspan(axis + 1))](const Run& run) {
    Word* to = run.at<Word>(y);
    if (bytes > 0) std::memcpy(to, run.at<std::byte>(x), bytes);
    const Index* at = run.at<Index>(indices);
    const Word* from = run.at<Word>(updates);
    const auto width = static_cast<int64_t>(inner.size()), picked = r.count * width;
    const auto count = static_cast<int64_t>(outer.size());
    check_indices(at, {.rows = r.rows, .count = count * picked});
    parallel_for(
        count, kPickedSumCost * static_cast<double>(picked), [&](int64_t first, int64_t last) {
          for (int64_t o = first; o < last; ++o) {
            Word* part_of = to + outer[static_cast<size_t>(o)] * r.rows * r.inner;
            for (int64_t i = 0; i < picked; ++i) {
              const Index index = at[o * picked + i];
              const int64_t row = index < 0 ? index + r.rows : index;
              part_of[row * r.inner + inner[static_cast<size_t>(i % width)]] = from[o * picked + i];
            }
          }
        });
  });
}

void make_scatter_elements(Site& site) {
  const bool wide = site.node().input(1)->type.dtype == DType::i64;
  if (bits(site.dtype()) == 32) {
    wide ? plan_scatter_elements<uint32_t, int64_t>(site)
         : plan_scatter_elements<uint32_t, int32_t>(site);
  } else {
    wide ? plan_scatter_elements<uint64_t, int64_t>(site)
         : plan_scatter_elements<uint64_t, int32_t>(site);
  }
}

constexpr KernelChoice kIndexingChoices[] = {
    {"Gather", "rows", refuses_gather, make_gather},
    {"GatherGrad", "rows", refuses_sums, make_gather_grad, "onward"},
    {"ScatterElements", "places", refuses_scatter_elements, make_scatter_elements},
    {"ScatterAdd", "flat", refuses_sums, make_scatter_add, "onward"},
};

}  // namespace

std::span<const KernelChoice> indexing_choices() { return kIndexingChoices; }

}  // namespace onward
