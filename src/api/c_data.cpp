// Tensors and datasets of the C interface.

#include <iterator>
#include <span>

#include "api/c_handles.h"

using onward::Error;
using onward::ErrorCode;
using namespace onward::api;

namespace {

const Tensor& found_tensor(const onward_tensors* tensors, const char* name) {
  require_given(tensors, "tensors");
  require_given(name, "name");
  const auto found = tensors->tensors.find(name);
  if (found != tensors->tensors.end()) return found->second;
  throw Error("there is no tensor '" + std::string(name) + "'", ErrorCode::invalid_argument);
}

}  // namespace

onward_status onward_tensors_create(onward_tensors** tensors) {
  return give(tensors, [] { return Tensors(); });
}

void onward_tensors_free(onward_tensors* tensors) { delete tensors; }

onward_status onward_tensors_set(onward_tensors* tensors, const char* name,
                                 const onward_tensor* tensor) {
  return reported([&] {
    require_given(tensors, "tensors");
    require_given(name, "name");
    require_given(tensor, "tensor");
    if (tensor->rank > 0) require_given(tensor->shape, "shape");
    if (tensor->bytes > 0) require_given(tensor->data, "data");
    if (tensor->dtype < 0 || tensor->dtype > UINT8_MAX) {
      throw Error("there is no element type " + std::to_string(tensor->dtype),
                  ErrorCode::invalid_argument);
    }
    tensors->tensors.insert_or_assign(
        name, Tensor(static_cast<DType>(tensor->dtype),
                     std::vector<int64_t>(tensor->shape, tensor->shape + tensor->rank),
                     {static_cast<const std::byte*>(tensor->data), tensor->bytes}));
  });
}

size_t onward_tensors_count(const onward_tensors* tensors) {
  return tensors ? tensors->tensors.size() : 0;
}

const char* onward_tensors_name(const onward_tensors* tensors, size_t index) {
  if (index >= onward_tensors_count(tensors)) return nullptr;
  return std::next(tensors->tensors.begin(), static_cast<std::ptrdiff_t>(index))->first.c_str();
}

onward_status onward_tensors_get(const onward_tensors* tensors, const char* name,
                                 onward_tensor* tensor) {
  return reported([&] {
    require_given(tensor, "the pointer to the result");
    const Tensor& found = found_tensor(tensors, name);
    *tensor = {.dtype = static_cast<int32_t>(found.dtype()),
               .rank = found.shape().size(),
               .shape = found.shape().data(),
               .data = found.bytes().data(),
               .bytes = found.bytes().size()};
  });
}

onward_status onward_tensors_number(const onward_tensors* tensors, const char* name, size_t index,
                                    double* number) {
  return reported([&] {
    require_given(number, "the pointer to the result");
    *number = found_tensor(tensors, name).number(static_cast<int64_t>(index));
  });
}

onward_status onward_dataset_open(const char* where, onward_dataset** dataset) {
  return give(dataset, [&] {
    require_given(where, "where");
    return open_dataset(where);
  });
}

void onward_dataset_free(onward_dataset* dataset) { delete dataset; }

int64_t onward_dataset_size(const onward_dataset* dataset) {
  return dataset ? dataset->dataset.size() : 0;
}

onward_status onward_dataset_shuffled(const onward_dataset* dataset, uint64_t seed, uint64_t epoch,
                                      onward_dataset** shuffled) {
  return give(shuffled, [&] {
    require_given(dataset, "dataset");
    return dataset->dataset.shuffled(seed, epoch);
  });
}

onward_status onward_dataset_rows(const onward_dataset* dataset, int64_t first, int64_t count,
                                  onward_tensors** batch) {
  return give(batch, [&] {
    require_given(dataset, "dataset");
    return dataset->dataset.rows(first, count);
  });
}
