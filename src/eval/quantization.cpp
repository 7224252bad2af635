#include "ops/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "eval/families.h"
#include "ir/float_formats.h"

namespace onward::eval {
namespace {

using Tensors = std::vector<Tensor>;

/// For each element of x, the index of its scale: one for all, one for each place along an axis, or
/// one for each block along it.
std::vector<int64_t> scale_indices(const Node& node, const std::vector<int64_t>& dims,
                                   const Tensor& scale) {
  if (scale.size() == 1) {
    return std::vector<int64_t>(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))), 0);
  }
  const auto rank = static_cast<int64_t>(dims.size());
  const auto axis = static_cast<size_t>(checked_axis(node.int_or("axis", 1), rank));
  const int64_t block = node.int_or("block_size", 0);
  if (block == 0) {
    std::vector<int64_t> spread(dims.size(), 1);
    spread[axis] = scale.size();
    return broadcast_indices(spread, dims);
  }
  const auto strides = strides_of(scale.dims());
  std::vector<int64_t> indices(static_cast<size_t>(checked_list_size(dims, sizeof(int64_t))));
  for_each_position(dims, [&](std::span<const int64_t> at, int64_t i) {
    int64_t index = 0;
    for (size_t d = 0; d < at.size(); ++d)
      index += (d == axis ? at[d] / block : at[d]) * strides[d];
    indices[static_cast<size_t>(i)] = index;
  });
  return indices;
}

/// A number as the type has it in which it is computed.
template <typename T>
T rounded(T number, DType dtype) {
  if (bits(dtype) > 16) return number;
  return static_cast<T>(
      decode_small_float(dtype, encode_small_float(dtype, number, Overflow::special)));
}

/// The nearest number of the type, ties to even. NaN has none among integers, and becomes the
/// lowest.
double saturated(double number, const QuantizedRange& range) {
  if (std::isnan(number)) return range.is_whole ? range.low : number;
  return std::clamp(number, range.low, range.high);
}

Tensors quantize_linear(const Context& c) {
  const Tensor& scale = c.input(1);
  const DType zero_type = c.has(2) ? c.input(2).dtype() : DType::undefined;
  const DType to = quantized_type(c.node(), zero_type);
  const DType division = division_type(c.node(), scale.dtype());
  const QuantizedRange range = quantized_range(to);
  const bool is_bounded = saturates(c.node(), to);
  const auto which = scale_indices(c.node(), c.input(0).dims(), scale);
  return compute_as_float(division, [&]<typename T>() -> Tensors {
    const Array<T> x = c.array<T>(0), scales = to_array<T>(scale);
    const auto zeros = c.has(2) ? c.array<double>(2) : Array<double>(scale.dims());
    Array<double> y(x.dims);
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t at = which[static_cast<size_t>(i)];
      const T quotient = rounded(x[i], division) / rounded(scales[at], division);
      const auto v = static_cast<double>(rounded(quotient, division));
      const double shifted = (range.is_whole ? std::nearbyint(v) : v) + zeros[at];
      y[i] = is_bounded ? saturated(shifted, range) : shifted;
    }
    return {to_tensor(y, to)};
  });
}

constexpr KernelDef kQuantizationKernels[] = {
    {"QuantizeLinear", quantize_linear},
};

}  // namespace

std::span<const KernelDef> quantization_kernels() { return kQuantizationKernels; }

}  // namespace onward::eval
