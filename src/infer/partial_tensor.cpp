#include "infer/partial_tensor.h"

#include <limits>

namespace onward {
namespace {

struct Range {
  int64_t lowest, highest;
};

std::optional<Range> range_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return Range{0, 1};
    case DType::i64:
      return Range{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
    case DType::u64:
      return Range{0, std::numeric_limits<int64_t>::max()};
    case DType::i8:
    case DType::i16:
    case DType::i32: {
      const int64_t half = int64_t{1} << (bits(dtype) - 1);
      return Range{-half, half - 1};
    }
    case DType::u8:
    case DType::u16:
    case DType::u32:
      return Range{0, (int64_t{1} << bits(dtype)) - 1};
    default:
      return std::nullopt;
  }
}

}  // namespace

bool can_be_partial(DType dtype, std::span<const int64_t> dims) {
  if (!range_of(dtype) || dims.size() > PartialTensor::kMaxDims) return false;
  const auto count = element_count(dims);
  return count && *count <= PartialTensor::kMaxElements;
}

Dim fitted(DType dtype, Dim element) {
  if (!element.value) return bits(dtype) >= 32 ? element : Dim{};
  const auto range = range_of(dtype);
  const bool fits = range && *element.value >= range->lowest && *element.value <= range->highest;
  return fits ? element : Dim{};
}

std::optional<PartialTensor> unknown_elements(DType dtype, std::vector<int64_t> dims) {
  return generate(dtype, std::move(dims), [](std::span<const int64_t>) { return Dim{}; });
}

std::optional<PartialTensor> generate(DType dtype, std::vector<int64_t> dims,
                                      const std::function<Dim(std::span<const int64_t>)>& element) {
  if (!can_be_partial(dtype, dims)) return std::nullopt;
  const int64_t count = *element_count(dims);
  PartialTensor tensor{.dtype = dtype, .dims = std::move(dims), .elements = {}};
  std::vector<int64_t> position(tensor.dims.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    tensor.elements.push_back(fitted(dtype, element(position)));
    for (size_t axis = position.size(); axis-- > 0;) {
      if (++position[axis] < tensor.dims[axis]) break;
      position[axis] = 0;
    }
  }
  return tensor;
}

const Dim& broadcast_element(const PartialTensor& tensor, std::span<const int64_t> position) {
  const auto own = position.last(tensor.dims.size());
  int64_t index = 0;
  for (size_t axis = 0; axis < own.size(); ++axis) {
    index = index * tensor.dims[axis] + (tensor.dims[axis] == 1 ? 0 : own[axis]);
  }
  return tensor.elements[static_cast<size_t>(index)];
}

std::optional<std::vector<int64_t>> broadcast_dims(std::span<const PartialTensor> tensors) {
  std::vector<int64_t> dims;
  for (const PartialTensor& tensor : tensors) {
    if (tensor.dims.size() > dims.size())
      dims.insert(dims.begin(), tensor.dims.size() - dims.size(), 1);
    const size_t shift = dims.size() - tensor.dims.size();
    for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
      int64_t& common = dims[shift + axis];
      if (common == 1) common = tensor.dims[axis];
      if (tensor.dims[axis] != 1 && tensor.dims[axis] != common) return std::nullopt;
    }
  }
  return dims;
}

}  // namespace onward
