#include "eval/pieces.h"

#include <fmt/format.h>

#include "eval/array.h"

namespace onward::eval {

namespace {

void require_one_type(std::span<const Tensor* const> parts) {
  for (const Tensor* part : parts) {
    if (part->dtype() == parts[0]->dtype()) continue;
    throw Error(fmt::format("elements of types {} and {} can't be joined", name(parts[0]->dtype()),
                            name(part->dtype())));
  }
}

}  // namespace

Tensor joined(std::span<const Tensor* const> parts) {
  require_one_type(parts);
  std::vector<ElementRun> runs;
  int64_t count = 0;
  for (const Tensor* part : parts) {
    runs.push_back({part, 0, part->size()});
    count += part->size();
  }
  return take_runs(parts[0]->dtype(), {count}, runs);
}

Tensor concatenated(std::span<const Tensor* const> parts, int64_t axis_or_negative) {
  require_one_type(parts);
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
  const std::span<const int64_t> all(dims);
  const int64_t outer = checked_element_count(all.first(axis));
  const int64_t inner = checked_element_count(all.subspan(axis + 1));
  std::vector<ElementRun> runs;
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor* part : parts) {
      const int64_t count = part->dims()[axis] * inner;
      runs.push_back({part, o * count, count});
    }
  }
  return take_runs(parts[0]->dtype(), std::move(dims), runs);
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
    layers.push_back(part->reshaped(dims));
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
  std::vector<int64_t> dims = x.dims();
  dims[at] = end - begin;
  if (outer == 1 && x.dtype() != DType::string && bits(x.dtype()) % 8 == 0) {
    return x.part(begin * inner, std::move(dims));
  }
  std::vector<ElementRun> runs;
  for (int64_t o = 0; o < outer; ++o) {
    runs.push_back({&x, (o * all[at] + begin) * inner, (end - begin) * inner});
  }
  return take_runs(x.dtype(), std::move(dims), runs);
}

Tensor at_index(const Tensor& x, int64_t axis, int64_t index) {
  const int64_t at = checked_axis(axis, static_cast<int64_t>(x.dims().size()));
  std::vector<int64_t> dims = x.dims();
  dims.erase(dims.begin() + at);
  return cut(x, at, index, index + 1).reshaped(std::move(dims));
}

}  // namespace onward::eval
