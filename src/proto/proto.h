#pragma once

// Between the IR and ONNX's protobuf messages, piece by piece. This header and source.h are the
// only ones in which the messages appear.

#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "ir/graph.h"
#include "proto/external_data.h"

namespace onward {

/// Where the bytes of a tensor's message may lie: in the message itself, which `owner` keeps alive,
/// or in files beside the model.
struct TensorOrigin {
  std::shared_ptr<const void> owner;     // null: copy the bytes
  std::shared_ptr<ExternalFiles> files;  // null: external data is refused
  /// Raw bytes that were moved out of their messages, to be held only once.
  std::unordered_map<const onnx::TensorProto*, std::shared_ptr<const std::string>> taken;
};

// Reading throws Error with one sentence; the caller adds where.
DType dtype_from_proto(int64_t number);
Type type_from_proto(const onnx::TypeProto& proto);
Tensor tensor_from_proto(const onnx::TensorProto& proto, const TensorOrigin& origin);
SparseTensor sparse_tensor_from_proto(const onnx::SparseTensorProto& proto,
                                      const TensorOrigin& origin);

onnx::TypeProto to_proto(const Type& type);
onnx::ValueInfoProto to_proto(const Value& value);  // name, type, doc, metadata
onnx::TensorProto to_proto(const Tensor& tensor, std::string_view name = {});
onnx::SparseTensorProto to_proto(const SparseTensor& tensor, std::string_view name = {});
onnx::AttributeProto to_proto(const Attribute& attribute);
onnx::NodeProto to_proto(const Node& node);  // with its subgraphs
/// A graph's message without the bytes of its own initializers is small, whatever the model's size.
enum class InitializerData : uint8_t { included, left_out };
onnx::GraphProto to_proto(const Graph& graph, InitializerData data = InitializerData::included);

}  // namespace onward
