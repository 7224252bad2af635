#include "infer/context.h"

#include <fmt/format.h>

#include <limits>

#include "proto/proto.h"

namespace onward {
namespace {

constexpr size_t kMaxDims = 64;
constexpr int64_t kLargestDim = std::numeric_limits<int32_t>::max();  // to which some rules cut
constexpr size_t kLongestSymbol = 256;
constexpr int kDeepestType = 16;

[[noreturn]] void refuse(const std::string& message) { throw onnx::InferenceError(message); }

template <typename TensorType>
void put_tensor_type(const Type& type, TensorType* proto) {
  proto->set_elem_type(static_cast<int32_t>(type.dtype));
  if (!type.shape || type.shape->size() > kMaxDims) return;
  auto* shape = proto->mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto* added = shape->add_dim();
    if (dim.value && *dim.value >= 0 && *dim.value <= kLargestDim) {
      added->set_dim_value(*dim.value);
    } else if (!dim.value && !dim.symbol.empty() && dim.symbol.size() <= kLongestSymbol) {
      added->set_dim_param(dim.symbol);
    }
  }
}

void put_type(const Type& type, int depth, onnx::TypeProto* proto) {
  if (depth > kDeepestType) return;
  const auto put_element = [&](onnx::TypeProto* element) {
    if (type.element) put_type(*type.element, depth + 1, element);
  };
  switch (type.kind) {
    case Type::Kind::unknown:
      break;
    case Type::Kind::tensor:
      put_tensor_type(type, proto->mutable_tensor_type());
      break;
    case Type::Kind::sparse_tensor:
      put_tensor_type(type, proto->mutable_sparse_tensor_type());
      break;
    case Type::Kind::sequence:
      put_element(proto->mutable_sequence_type()->mutable_elem_type());
      break;
    case Type::Kind::optional:
      put_element(proto->mutable_optional_type()->mutable_elem_type());
      break;
    case Type::Kind::map:
      proto->mutable_map_type()->set_key_type(static_cast<int32_t>(type.dtype));
      put_element(proto->mutable_map_type()->mutable_value_type());
      break;
    case Type::Kind::opaque:
      proto->mutable_opaque_type()->set_domain(type.opaque_domain);
      proto->mutable_opaque_type()->set_name(type.opaque_name);
      break;
  }
}

/// The tensor's message; only type and dimensions of a large one, whose elements no rule needs.
onnx::TensorProto to_rule_tensor(const Tensor& tensor) {
  if (tensor.size() <= KnownData::kMaxConstantElements) return to_proto(tensor);
  onnx::TensorProto proto;
  proto.set_data_type(static_cast<int32_t>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  return proto;
}

void put_value(const Value& value, onnx::ValueInfoProto* proto) {
  proto->set_name(value.name());
  if (value.type.known()) *proto->mutable_type() = to_rule_type(read_type(value));
}

/// The inputs and outputs of a subgraph: what is in it is read through its inferencer only.
void put_signature(const Graph& graph, onnx::GraphProto* proto) {
  for (const Value* input : graph.inputs()) put_value(*input, proto->add_input());
  for (const Value* output : graph.outputs()) put_value(*output, proto->add_output());
}

onnx::AttributeProto to_rule_attribute(const Attribute& attribute) {
  onnx::AttributeProto proto;
  proto.set_name(attribute.name);
  if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::TENSOR);
    *proto.mutable_t() = to_rule_tensor(*tensor);
  } else if (const auto* sparse = std::get_if<SparseTensor>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::SPARSE_TENSOR);
    *proto.mutable_sparse_tensor()->mutable_values() = to_rule_tensor(sparse->values);
    *proto.mutable_sparse_tensor()->mutable_indices() = to_rule_tensor(sparse->indices);
    for (const int64_t dim : sparse->dims) proto.mutable_sparse_tensor()->add_dims(dim);
  } else if (const auto* type = std::get_if<Type>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::TYPE_PROTO);
    *proto.mutable_tp() = to_rule_type(*type);
  } else if (const auto* graph = std::get_if<std::unique_ptr<Graph>>(&attribute.value)) {
    proto.set_type(onnx::AttributeProto::GRAPH);
    put_signature(**graph, proto.mutable_g());
  } else if (std::holds_alternative<Attribute::Graphs>(attribute.value)) {
    proto.set_type(onnx::AttributeProto::GRAPHS);
  } else {
    return to_proto(attribute);
  }
  return proto;
}

/// A tensor of which all elements are known.
Tensor to_tensor(const PartialTensor& partial) {
  std::string bytes;
  const auto width = static_cast<size_t>(bits(partial.dtype) + 7) / 8;
  for (const Dim& element : partial.elements) {
    bytes.append(reinterpret_cast<const char*>(&*element.value), width);  // little-endian
  }
  return Tensor::from_bytes(partial.dtype, partial.dims,
                            std::make_shared<const std::string>(std::move(bytes)));
}

/// The rule of Pad reads axes as int64, though int32 is allowed too.
Tensor as_rule_reads(const Node& node, size_t index, const Tensor& tensor) {
  if (node.op != "Pad" || index != 3 || tensor.dtype() != DType::i32) return tensor;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < tensor.size(); ++i) axes.push_back(tensor.integer(i));
  return Tensor::of(tensor.dims(), axes);
}

/// The rules of Slice and Pad take axes and steps of unknown shape for left out, that of STFT takes
/// a window for a scalar; they are vectors.
bool is_surely_a_vector(const Node& node, size_t index) {
  if (node.op == "STFT") return index == 2;
  return index > 0 && (node.op == "Slice" || (node.op == "Pad" && index != 2));
}

/// Lets a rule for control flow infer the types in one subgraph.
class SubgraphContext final : public onnx::GraphInferencer {
 public:
  SubgraphContext(Graph& graph, const NodeContext::InferSubgraph& infer)
      : graph_(graph), infer_(infer) {}

  std::vector<const onnx::TypeProto*> doInferencing(
      const std::vector<const onnx::TypeProto*>& input_types,
      const std::vector<const onnx::TensorProto*>&) override {
    infer_(graph_, input_types);
    output_types_.clear();
    for (const Value* output : graph_.outputs()) {
      output_types_.push_back(to_rule_type(read_type(*output)));
    }
    std::vector<const onnx::TypeProto*> pointers;
    for (const onnx::TypeProto& type : output_types_) pointers.push_back(&type);
    return pointers;
  }

 private:
  Graph& graph_;
  const NodeContext::InferSubgraph& infer_;
  std::deque<onnx::TypeProto> output_types_;
};

}  // namespace

onnx::TypeProto to_rule_type(const Type& type) {
  onnx::TypeProto proto;
  put_type(type, 0, &proto);
  return proto;
}

Type read_type(const Value& value) {
  Type type = value.type;
  if (value.initializer() && value.initializer()->sparse()) type.kind = Type::Kind::tensor;
  return type;
}

NodeContext::NodeContext(const Node& node, const onnx::OpSchema& schema, const KnownData& known,
                         InferSubgraph infer_subgraph)
    : node_(node),
      schema_(schema),
      known_(known),
      infer_subgraph_(std::move(infer_subgraph)),
      output_types_(node.outputs().size()) {
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* value = node.input(i);
    if (!value) {
      input_types_.push_back(nullptr);
      continue;
    }
    // Not null where the type is unknown: many rules look without asking.
    const auto [found, added] = types_.try_emplace(value);
    if (added) found->second = to_rule_type(read_type(*value));
    onnx::TypeProto& type = found->second;
    const bool has_no_shape = type.has_tensor_type() && !type.tensor_type().has_shape();
    if (has_no_shape && is_surely_a_vector(node, i)) {
      type.mutable_tensor_type()->mutable_shape()->add_dim();
    }
    input_types_.push_back(&type);
  }
}

const onnx::TypeProto* NodeContext::getInputType(size_t index) const {
  if (index >= input_types_.size()) refuse(fmt::format("input {} is missing", index));
  return input_types_[index];
}

onnx::TypeProto* NodeContext::getOutputType(size_t index) {
  if (index >= output_types_.size()) refuse(fmt::format("output {} is missing", index));
  return &output_types_[index];
}

const onnx::TensorProto* NodeContext::getInputData(size_t index) const {
  if (index >= input_types_.size()) refuse(fmt::format("input {} is missing", index));
  const Value* value = node_.input(index);
  if (!value) return nullptr;
  const auto [found, added] = data_.try_emplace(value);
  if (!added) return found->second.get();
  const Tensor* constant = known_.constant(*value);
  // The longest that a rule needs is one number for each output of a Split. What is longer than any
  // shape would only let a small file ask for long work.
  if (constant && constant->size() > PartialTensor::kMaxElements && node_.op != "Split") {
    return nullptr;
  }
  if (constant) {
    found->second =
        std::make_unique<onnx::TensorProto>(to_proto(as_rule_reads(node_, index, *constant)));
  } else if (const auto partial = known_.find(*value);
             partial && partial->rank() <= 1 && partial->all_known()) {
    found->second = std::make_unique<onnx::TensorProto>(
        to_proto(as_rule_reads(node_, index, to_tensor(*partial))));
  }
  return found->second.get();
}

const onnx::SparseTensorProto* NodeContext::getInputSparseData(size_t) const { return nullptr; }

const onnx::TensorShapeProto* NodeContext::getSymbolicInput(size_t index) const {
  if (getInputData(index)) return nullptr;  // rules look there first
  const Value* value = node_.input(index);
  if (!value) return nullptr;
  const auto [found, added] = symbolic_data_.try_emplace(value);
  if (!added) return found->second.get();
  const auto partial = known_.find(*value);
  if (!partial || partial->rank() > 1 || !partial->any_known()) return nullptr;
  found->second = std::make_unique<onnx::TensorShapeProto>();
  for (const Dim& element : partial->elements) {
    auto* dim = found->second->add_dim();
    if (element.value) {
      dim->set_dim_value(*element.value);
    } else if (!element.symbol.empty()) {
      dim->set_dim_param(element.symbol);
    }
  }
  return found->second.get();
}

const onnx::AttributeProto* NodeContext::getAttribute(const std::string& name) const {
  if (const auto found = attributes_.find(name); found != attributes_.end()) return &found->second;
  // Rules share code, which may ask for an attribute that this operator does not have.
  if (!schema_.attributes().contains(name)) return nullptr;
  // Rules take pads before auto_pad, even where they are 0; what runs goes by auto_pad.
  if (name == "pads" && node_.string_or("auto_pad", "NOTSET") != "NOTSET") return nullptr;
  const Attribute* attribute = node_.attribute(name);
  // The rule of STFT takes another default than the schema says.
  if (!attribute && name == "onesided") return &schema_.attributes().at(name).default_value;
  if (!attribute) return nullptr;
  return &attributes_.emplace(name, to_rule_attribute(*attribute)).first->second;
}

onnx::GraphInferencer* NodeContext::getGraphAttributeInferencer(const std::string& name) {
  const auto* graph = node_.get<std::unique_ptr<Graph>>(name);
  if (!graph) refuse(fmt::format("attribute '{}' is not a graph", name));
  auto& inferencer = inferencers_[name];
  if (!inferencer) inferencer = std::make_unique<SubgraphContext>(**graph, infer_subgraph_);
  return inferencer.get();
}

}  // namespace onward
