#include "runtime/finite.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cmath>

#include "ir/tensor.h"
#include "runtime/parallel.h"
#include "runtime/rows.h"

namespace onward {
namespace {

Tensor view_of(DType dtype, std::span<const int64_t> dims, const std::byte* elements) {
  const auto bytes = packed_bytes(dtype, checked_element_count(dims)).value();
  return Tensor::view(dtype, {dims.begin(), dims.end()}, {elements, static_cast<size_t>(bytes)},
                      nullptr);
}

template <typename T>
FoundRange range_as(const std::byte* elements, int64_t count) {
  const T* x = reinterpret_cast<const T*>(elements);
  std::array<RowRange<T>, kMaxThreads> found;
  std::atomic<int64_t> teams = 0;
  parallel_for(count, 0.05, [&](int64_t first, int64_t last, int64_t) {
    if (first == last) return;
    found[static_cast<size_t>(teams++)] = row_functions<T>().range(x + first, last - first);
  });
  Range range{double{x[0]}, double{x[0]}};
  for (size_t i = 0; i < static_cast<size_t>(teams); ++i) {
    if (!found[i].finite) return std::nullopt;
    range = hull(range, {double{found[i].low}, double{found[i].high}});
  }
  return range;
}

}  // namespace

NotFinite::~NotFinite() = default;

FoundRange find_range(DType dtype, std::span<const int64_t> dims, const std::byte* elements) {
  if (!is_float(dtype)) return Range{-1e19, 1e19};
  const int64_t count = checked_element_count(dims);
  if (count == 0) return Range{0, 0};
  if (dtype == DType::f32) return range_as<float>(elements, count);
  if (dtype == DType::f64) return range_as<double>(elements, count);
  const Tensor tensor = view_of(dtype, dims, elements);
  Range range = {tensor.number(0), tensor.number(0)};
  for (int64_t i = 0; i < count; ++i) {
    const double number = tensor.number(i);
    if (!std::isfinite(number)) return std::nullopt;
    range = hull(range, {number, number});
  }
  return range;
}

std::optional<double> find_not_finite(const Checked& checked) {
  const auto& [name, dtype, dims, elements, old, advice] = checked;
  if (find_range(dtype, dims, elements)) return std::nullopt;
  const Tensor tensor = view_of(dtype, dims, elements);
  const Tensor before = view_of(dtype, dims, old ? old : elements);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double number = tensor.number(i);
    if (std::isfinite(number) || (old && !std::isfinite(before.number(i)))) continue;
    return std::isnan(number) ? NAN : number;
  }
  return std::nullopt;
}

void refuse_not_finite(const Checked& checked) {
  const auto number = find_not_finite(checked);
  if (!number) return;
  throw NotFinite(fmt::format("'{}' became {}{}{}", checked.name, *number,
                              checked.advice.empty() ? "" : ": ", checked.advice),
                  checked.name);
}

}  // namespace onward
