#pragma once

#include <onnx/onnx_pb.h>

namespace onward {

/// True for a model in the draft form of the training part that was tried out in 2019.
bool is_draft(const onnx::ModelProto& model);

/// The same training job in the standard's form. Throws Error where the draft part is malformed.
onnx::ModelProto draft_to_standard(const onnx::ModelProto& model);

}  // namespace onward
