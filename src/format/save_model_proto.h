#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <vector>

#include "format/save.h"
#include "ir/model.h"

namespace onward {

/// A tensor whose bytes are still to be put into its message, or into a file beside it.
struct UnsavedTensor {
  onnx::TensorProto* proto;
  Tensor tensor;
};

/// A model's message without the bytes of its top-level initializers.
struct UnsavedModel {
  onnx::ModelProto proto;
  std::vector<UnsavedTensor> tensors;
  bool had_external_data = false;  // some tensors lie in files that are not in the new folder
};

/// Im2col the message that the model was read from, where there is one and the structure of the
/// graphs is unchanged, or writes it anew. Data that already lies in files of `folder` stays there.
UnsavedModel prepare_to_save(const Model& model, const SaveOptions& options,
                             const std::filesystem::path& folder);

}  // namespace onward
