#pragma once

// The messages of the 2019 draft, which stand in fields that ONNX's ModelProto does not know: 9 for
// functions, 21 for training_info.

#include <onnx/onnx_pb.h>

#include <vector>

namespace onward {

/// The draft's training_info. Its algorithm is a function; bindings are in whichever direction.
struct DraftInfo {
  std::vector<onnx::TensorProto> initializers;
  std::vector<onnx::ValueInfoProto> inputs, outputs;
  onnx::FunctionProto algorithm;
  std::vector<onnx::StringStringEntryProto> bindings;
};

struct DraftParts {
  std::vector<onnx::FunctionProto> functions;
  std::vector<DraftInfo> infos;
};

bool has_draft_parts(const onnx::ModelProto& model);
/// Throws Error where they are damaged.
DraftParts read_draft_parts(const onnx::ModelProto& model);
void add_draft_parts(onnx::ModelProto& model, const DraftParts& parts);
void remove_draft_parts(onnx::ModelProto& model);

onnx::AttributeProto string_attribute(const std::string& name, const std::string& value);
onnx::AttributeProto strings_attribute(const std::string& name,
                                       const std::vector<std::string>& values);

/// The declaration of a value of the tensor's type.
onnx::ValueInfoProto typed_as(const onnx::TensorProto& tensor, const std::string& name);

}  // namespace onward
