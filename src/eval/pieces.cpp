#include "eval/pieces.h"

#include <fmt/format.h>

#include <numeric>

#include "eval/array.h"

namespace onward::eval {

Tensor joined(std::span<const Tensor* const> parts) {
  for (const Tensor* part : parts) {
    if (part->dtype() == parts[0]->dtype()) continue;
    throw Error(fmt::format("elements of types {} and {} can't be joined", name(parts[0]->dtype()),
                            name(part->dtype())));
  }
  if (parts[0]->dtype() == DType::string) {
    std::vector<std::string> texts;
    for (const Tensor* part : parts) {
      texts.insert(texts.end(), part->strings().begin(), part->strings().end());
    }
    const auto count = static_cast<int64_t>(texts.size());
    return Tensor::of_strings({count}, std::move(texts));
  }
  std::string bytes;
  int64_t count = 0;
  for (const Tensor* part : parts) {
    bytes.append(reinterpret_cast<const char*>(part->bytes().data()), part->bytes().size());
    count += part->size();
  }
  return Tensor::from_bytes(parts[0]->dtype(), {count},
                            std::make_shared<const std::string>(std::move(bytes)));
}

Tensor with_shape(const Tensor& x, std::vector<int64_t> dims) {
  if (x.dtype() == DType::string) return Tensor::of_strings(std::move(dims), x.strings());
  std::vector<int64_t> indices(static_cast<size_t>(x.size()));
  std::iota(indices.begin(), indices.end(), 0);
  return take_elements(x, std::move(dims), indices);
}

Tensor concatenated(std::span<const Tensor* const> parts, int64_t axis_or_negative) {
  std::vector<int64_t> dims = parts[0]->dims();
  const auto axis =
      static_cast<size_t>(checked_axis(axis_or_negative, static_cast<int64_t>(dims.size())));
  dims[axis] = 0;
  for (const Tensor* part : parts) {
    for (size_t d = 0; d < dims.size(); ++d) {
      const bool fits = part->dims().size() == dims.size() &&
                        (d == axis || part->dims()[d] == parts[0]->dims()[d]);
      if (!fits) {
        throw Error(fmt::format("shapes {} and {} can't be joined along axis {}",
                                to_string(parts[0]->dims()), to_string(part->dims()), axis));
      }
    }
    dims[axis] += part->dims()[axis];
  }
  // Of each part, runs of elements that lie one after the other in the result too.
  std::vector<int64_t> indices;
  const std::span<const int64_t> all(dims);
  const int64_t outer = checked_element_count(all.first(axis));
  const int64_t inner = checked_element_count(all.subspan(axis + 1));
  for (int64_t o = 0; o < outer; ++o) {
    int64_t base = 0;
    for (const Tensor* part : parts) {
      const int64_t run = part->dims()[axis] * inner;
      for (int64_t i = 0; i < run; ++i) indices.push_back(base + o * run + i);
      base += part->size();
    }
  }
  return take_elements(joined(parts), std::move(dims), indices);
}

Tensor stacked(std::span<const Tensor* const> parts, int64_t axis) {
  std::vector<int64_t> dims = parts[0]->dims();
  const int64_t at = checked_axis(axis, static_cast<int64_t>(dims.size()) + 1);
  dims.insert(dims.begin() + at, 1);
  std::vector<Tensor> layers;
  for (const Tensor* part : parts) {
    if (part->dims() != parts[0]->dims()) {
      throw Error(fmt::format("tensors of shapes {} and {} can't be stacked",
                              to_string(parts[0]->dims()), to_string(part->dims())));
    }
    layers.push_back(with_shape(*part, dims));
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& layer : layers) pointers.push_back(&layer);
  return concatenated(pointers, at);
}

Tensor cut(const Tensor& x, int64_t axis, int64_t begin, int64_t end) {
  const auto at = static_cast<size_t>(checked_axis(axis, static_cast<int64_t>(x.dims().size())));
  const std::span<const int64_t> all(x.dims());
  const int64_t outer = checked_element_count(all.first(at));
  const int64_t inner = checked_element_count(all.subspan(at + 1));
  std::vector<int64_t> indices;
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t row = o * x.dims()[at];
    for (int64_t i = (row + begin) * inner; i < (row + end) * inner; ++i) indices.push_back(i);
  }
  std::vector<int64_t> dims = x.dims();
  dims[at] = end - begin;
  return take_elements(x, std::move(dims), indices);
}

Tensor at_index(const Tensor& x, int64_t axis, int64_t index) {
  const int64_t at = checked_axis(axis, static_cast<int64_t>(x.dims().size()));
  std::vector<int64_t> dims = x.dims();
  dims.erase(dims.begin() + at);
  return with_shape(cut(x, at, index, index + 1), std::move(dims));
}

}  // namespace onward::eval
