#include "emit/layout.h"

#include <cstring>
#include <memory>

#include "eval/array.h"
#include "proto/mapped_tensors.h"

namespace onward::emit {

Tensor permuted(const Tensor& tensor, const std::vector<int64_t>& permutation) {
  if (permutation.empty()) return tensor;
  const auto strides = eval::strides_of(tensor.dims());
  std::vector<int64_t> dims, from_strides;
  for (const int64_t axis : permutation) {
    dims.push_back(tensor.dims()[static_cast<size_t>(axis)]);
    from_strides.push_back(strides[static_cast<size_t>(axis)]);
  }
  const auto width = static_cast<size_t>(bits(tensor.dtype()) / 8);
  auto bytes = std::make_shared<std::string>(tensor.bytes().size(), '\0');
  const Tensor read = in_memory(tensor);
  const auto* from = reinterpret_cast<const char*>(read.bytes().data());
  eval::for_each_position(dims, [&](std::span<const int64_t> position, int64_t i) {
    int64_t index = 0;
    for (size_t d = 0; d < position.size(); ++d) index += position[d] * from_strides[d];
    std::memcpy(bytes->data() + static_cast<size_t>(i) * width,
                from + static_cast<size_t>(index) * width, width);
  });
  return Tensor::from_bytes(tensor.dtype(), std::move(dims), std::move(bytes));
}

}  // namespace onward::emit
