#include <fmt/format.h>

#include <unordered_set>

#include "onward/error.h"
#include "proto/mapped_tensors.h"
#include "proto/proto.h"

namespace onward {
namespace {

template <typename Field>
void put_metadata(const Metadata& metadata, Field* field) {
  for (const auto& [key, value] : metadata) {
    auto* entry = field->Add();
    entry->set_key(key);
    entry->set_value(value);
  }
}

template <typename Proto>
void put_type_of_tensor(const Type& type, Proto* proto) {
  proto->set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.shape) return;
  auto* shape = proto->mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto* added = shape->add_dim();
    if (dim.value) added->set_dim_value(*dim.value);
    if (!dim.value && !dim.symbol.empty()) added->set_dim_param(dim.symbol);
    if (!dim.denotation.empty()) added->set_denotation(dim.denotation);
  }
}

onnx::TypeProto element_proto(const Type& type) {
  return type.element ? to_proto(*type.element) : onnx::TypeProto();
}

/// Writes each kind of attribute value into its field, and its kind into `type`.
struct AttributeWriter {
  onnx::AttributeProto& proto;

  void operator()(std::monostate) const {}
  void operator()(float value) const {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(int64_t value) const {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const Tensor& value) const {
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = to_proto(value);
  }
  void operator()(const SparseTensor& value) const {
    proto.set_type(onnx::AttributeProto::SPARSE_TENSOR);
    *proto.mutable_sparse_tensor() = to_proto(value);
  }
  void operator()(const Type& value) const {
    proto.set_type(onnx::AttributeProto::TYPE_PROTO);
    *proto.mutable_tp() = to_proto(value);
  }
  void operator()(const std::unique_ptr<Graph>& value) const {
    proto.set_type(onnx::AttributeProto::GRAPH);
    *proto.mutable_g() = to_proto(*value);
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(onnx::AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<int64_t>& values) const {
    proto.set_type(onnx::AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
  void operator()(const std::vector<Tensor>& values) const {
    proto.set_type(onnx::AttributeProto::TENSORS);
    for (const Tensor& value : values) *proto.add_tensors() = to_proto(value);
  }
  void operator()(const std::vector<SparseTensor>& values) const {
    proto.set_type(onnx::AttributeProto::SPARSE_TENSORS);
    for (const SparseTensor& value : values) *proto.add_sparse_tensors() = to_proto(value);
  }
  void operator()(const std::vector<Type>& values) const {
    proto.set_type(onnx::AttributeProto::TYPE_PROTOS);
    for (const Type& value : values) *proto.add_type_protos() = to_proto(value);
  }
  void operator()(const Attribute::Graphs& values) const {
    proto.set_type(onnx::AttributeProto::GRAPHS);
    for (const auto& value : values) *proto.add_graphs() = to_proto(*value);
  }
  void operator()(const References& references) const {
    if (references.single) {
      proto.set_type(onnx::AttributeProto::STRING);
      proto.set_s(references.values.at(0)->name());
      return;
    }
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const Value* value : references.values) proto.add_strings(value->name());
  }
};

void put_initializer(const Value& value, InitializerData data, onnx::GraphProto& graph) {
  const Initializer& initializer = *value.initializer();
  if (const Tensor* dense = initializer.dense()) {
    auto* proto = graph.add_initializer();
    if (data == InitializerData::included) {
      *proto = to_proto(*dense, value.name());
    } else {
      proto->set_name(value.name());
    }
    if (!initializer.doc.empty()) proto->set_doc_string(initializer.doc);
    put_metadata(initializer.metadata, proto->mutable_metadata_props());
  } else {
    *graph.add_sparse_initializer() = to_proto(*initializer.sparse(), value.name());
  }
}

}  // namespace

onnx::TypeProto to_proto(const Type& type) {
  onnx::TypeProto proto;
  switch (type.kind) {
    case Type::Kind::unknown:
      break;
    case Type::Kind::tensor:
      put_type_of_tensor(type, proto.mutable_tensor_type());
      break;
    case Type::Kind::sparse_tensor:
      put_type_of_tensor(type, proto.mutable_sparse_tensor_type());
      break;
    case Type::Kind::sequence:
      *proto.mutable_sequence_type()->mutable_elem_type() = element_proto(type);
      break;
    case Type::Kind::optional:
      *proto.mutable_optional_type()->mutable_elem_type() = element_proto(type);
      break;
    case Type::Kind::map:
      proto.mutable_map_type()->set_key_type(static_cast<int32_t>(type.dtype));
      *proto.mutable_map_type()->mutable_value_type() = element_proto(type);
      break;
    case Type::Kind::opaque:
      proto.mutable_opaque_type()->set_domain(type.opaque_domain);
      proto.mutable_opaque_type()->set_name(type.opaque_name);
      break;
  }
  if (!type.denotation.empty()) proto.set_denotation(type.denotation);
  return proto;
}

onnx::ValueInfoProto to_proto(const Value& value) {
  onnx::ValueInfoProto proto;
  proto.set_name(value.name());
  if (value.type.known()) *proto.mutable_type() = to_proto(value.type);
  if (!value.doc.empty()) proto.set_doc_string(value.doc);
  put_metadata(value.metadata, proto.mutable_metadata_props());
  return proto;
}

onnx::TensorProto to_proto(const Tensor& tensor, std::string_view name) {
  onnx::TensorProto proto;
  if (!name.empty()) proto.set_name(std::string(name));
  proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  if (tensor.dtype() == DType::string) {
    for (const std::string& text : tensor.strings()) proto.add_string_data(text);
  } else {
    const Tensor read = in_memory(tensor);
    proto.set_raw_data(read.bytes().data(), read.bytes().size());
  }
  return proto;
}

onnx::SparseTensorProto to_proto(const SparseTensor& tensor, std::string_view name) {
  onnx::SparseTensorProto proto;
  *proto.mutable_values() = to_proto(tensor.values, name);
  *proto.mutable_indices() = to_proto(tensor.indices);
  for (const int64_t dim : tensor.dims) proto.add_dims(dim);
  return proto;
}

onnx::AttributeProto to_proto(const Attribute& attribute) {
  onnx::AttributeProto proto;
  proto.set_name(attribute.name);
  if (!attribute.doc.empty()) proto.set_doc_string(attribute.doc);
  std::visit(AttributeWriter{proto}, attribute.value);
  return proto;
}

onnx::NodeProto to_proto(const Node& node) {
  onnx::NodeProto proto;
  for (const Value* input : node.inputs()) proto.add_input(input ? input->name() : "");
  for (const auto& output : node.outputs()) proto.add_output(output ? output->name() : "");
  if (!node.name.empty()) proto.set_name(node.name);
  proto.set_op_type(node.op);
  if (!node.domain.empty()) proto.set_domain(node.domain);
  if (!node.overload.empty()) proto.set_overload(node.overload);
  if (!node.doc.empty()) proto.set_doc_string(node.doc);
  for (const Attribute& attribute : node.attributes()) *proto.add_attribute() = to_proto(attribute);
  put_metadata(node.metadata, proto.mutable_metadata_props());
  for (const std::string& configuration : node.device_configurations) {
    if (!proto.add_device_configurations()->ParseFromString(configuration)) {
      throw Bug("a device configuration that was read can't be read again");
    }
  }
  return proto;
}

onnx::GraphProto to_proto(const Graph& graph, InitializerData data) {
  onnx::GraphProto proto;
  if (!graph.name.empty()) proto.set_name(graph.name);
  if (!graph.doc.empty()) proto.set_doc_string(graph.doc);
  put_metadata(graph.metadata, proto.mutable_metadata_props());
  for (const Value* input : graph.inputs()) *proto.add_input() = to_proto(*input);
  for (const Value* output : graph.outputs()) *proto.add_output() = to_proto(*output);
  for (const Value* value : graph.initializers()) put_initializer(*value, data, proto);

  const std::unordered_set<const Value*> outputs(graph.outputs().begin(), graph.outputs().end());
  const auto put_value_info = [&](const Value& value) {
    if (value.declared && !value.is_input() && !outputs.contains(&value)) {
      *proto.add_value_info() = to_proto(value);
    }
  };
  for (const Value* value : graph.initializers()) put_value_info(*value);
  for (const auto& node : graph.nodes()) {
    *proto.add_node() = to_proto(*node);
    for (const auto& output : node->outputs()) {
      if (output) put_value_info(*output);
    }
  }
  for (const TensorAnnotation& annotation : graph.annotations) {
    auto* added = proto.add_quantization_annotation();
    added->set_tensor_name(annotation.tensor);
    put_metadata(annotation.parameters, added->mutable_quant_parameter_tensor_names());
  }
  return proto;
}

}  // namespace onward
