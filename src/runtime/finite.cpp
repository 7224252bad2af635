#include "runtime/finite.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>

#include "ir/tensor.h"
#include "onward/error.h"
#include "runtime/parallel.h"

namespace onward {
namespace {

Tensor view_of(DType dtype, std::span<const int64_t> dims, const std::byte* elements) {
  const auto bytes = packed_bytes(dtype, checked_element_count(dims)).value();
  return Tensor::view(dtype, {dims.begin(), dims.end()}, {elements, static_cast<size_t>(bytes)},
                      nullptr);
}

template <typename T>
bool is_tame_as(const std::byte* elements, int64_t count) {
  const T* x = reinterpret_cast<const T*>(elements);
  std::atomic<bool> tame = true;
  parallel_for(count, 0.1, [&](int64_t first, int64_t last) {
    bool all = true;
    for (int64_t i = first; i < last; ++i)
      all &= std::fabs(x[i]) <= T{kModerate};  // false for a NaN
    if (!all) tame = false;
  });
  return tame;
}

}  // namespace

bool is_tame(DType dtype, std::span<const int64_t> dims, const std::byte* elements) {
  const int64_t count = checked_element_count(dims);
  if (dtype == DType::f32) return is_tame_as<float>(elements, count);
  if (dtype == DType::f64) return is_tame_as<double>(elements, count);
  if (!is_float(dtype)) return true;
  const Tensor tensor = view_of(dtype, dims, elements);
  for (int64_t i = 0; i < count; ++i) {
    if (!(std::fabs(tensor.number(i)) <= kModerate)) return false;
  }
  return true;
}

std::optional<double> find_not_finite(const Checked& checked) {
  const auto& [name, dtype, dims, elements, old, advice] = checked;
  if (!is_float(dtype) || is_tame(dtype, dims, elements)) return std::nullopt;
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
  throw Error(fmt::format("'{}' became {}{}{}", checked.name, *number,
                          checked.advice.empty() ? "" : ": ", checked.advice));
}

}  // namespace onward
