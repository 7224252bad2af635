#pragma once

// What is behind the public types, for the files of this folder.

#include <utility>

#include "data/dataset.h"
#include "ir/model.h"
#include "onward/dataset.h"
#include "onward/error.h"
#include "onward/log.h"
#include "onward/model.h"
#include "onward/tensor.h"
#include "runtime/state.h"

namespace onward::api {

struct TensorData {
  onward::Tensor tensor;

  static Tensor wrap(onward::Tensor tensor);
  static const onward::Tensor& of(const Tensor& tensor) { return tensor.data_->tensor; }
};

Tensors wrap(const TensorMap& tensors);
/// The tensors with memory that the caller may change as soon as a call has returned.
TensorMap unwrap(const Tensors& tensors);
/// A tensor with bytes of its own.
onward::Tensor copied(const onward::Tensor& tensor);
TensorMap unwrap_copies(const Tensors& tensors);

struct ModelData {
  onward::Model model;

  /// With its types completed, so that whoever asks for an output's finds it.
  static Model wrap(onward::Model model);
  static const onward::Model& of(const Model& model) { return model.data_->model; }
};

struct DatasetData {
  std::shared_ptr<const onward::Dataset> arrays;
  std::vector<int64_t> order;  // empty: as they are

  static Dataset wrap(onward::Dataset dataset);
  static const onward::Dataset& of(const Dataset& data) { return *data.data_->arrays; }
};

/// Tells the callback, where there is one.
void log(LogLevel level, std::string_view message);

/// Does the work, and gives what it throws a code where it has none.
template <typename Work>
decltype(auto) with_code(ErrorCode code, Work work) {
  try {
    return work();
  } catch (Error& error) {
    error.default_code(code);
    throw;
  }
}

}  // namespace onward::api
