#include "format/draft/message.h"

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include "onward/error.h"

namespace onward {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// Fields of the model.
constexpr int kFunctions = 9;
constexpr int kTrainingInfo = 21;

// Fields of a training_info. An earlier draft had the parts of an algorithm in its place: the loss
// (a node, in the algorithm's field), pairs of tensor and gradient, and the optimizer (nodes).
constexpr int kInitializers = 1;
constexpr int kInputs = 2;
constexpr int kOutputs = 3;
constexpr int kAlgorithm = 4;
constexpr int kGradient = 5;
constexpr int kOptimizer = 6;
constexpr int kUpdateBinding = 7;

template <typename Message>
void read(const UnknownField& field, std::string_view what, Message& message) {
  if (field.type() != UnknownField::TYPE_LENGTH_DELIMITED ||
      !message.ParseFromString(field.length_delimited())) {
    throw Error(fmt::format("the {} of its 2019 draft format is damaged", what));
  }
}

template <typename Message>
std::vector<Message> read_all(const UnknownFieldSet& fields, int number, std::string_view what) {
  std::vector<Message> messages;
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() == number) read(fields.field(i), what, messages.emplace_back());
  }
  return messages;
}

template <typename Message>
void add_all(UnknownFieldSet& fields, int number, const std::vector<Message>& messages) {
  for (const Message& message : messages) {
    fields.AddLengthDelimited(number, message.SerializeAsString());
  }
}

onnx::FunctionProto algorithm_of_parts(const UnknownFieldSet& fields) {
  const auto losses = read_all<onnx::NodeProto>(fields, kAlgorithm, "loss");
  const auto gradients = read_all<onnx::StringStringEntryProto>(fields, kGradient, "gradient");
  if (losses.size() != 1 || losses[0].output_size() != 1 || gradients.empty()) {
    throw Error("the training_info of its 2019 draft format lacks a loss or gradients");
  }
  onnx::NodeProto gradient;
  gradient.set_op_type("Gradient");
  std::vector<std::string> xs;
  for (const auto& pair : gradients) {
    xs.push_back(pair.key());
    gradient.add_input(pair.key());
    gradient.add_output(pair.value());
  }
  *gradient.add_attribute() = strings_attribute("xs", xs);
  *gradient.add_attribute() = string_attribute("y", losses[0].output(0));

  onnx::FunctionProto algorithm;
  algorithm.set_name("training");
  *algorithm.add_node() = losses[0];
  *algorithm.add_node() = gradient;
  for (const auto& optimizer : read_all<onnx::NodeProto>(fields, kOptimizer, "optimizer")) {
    *algorithm.add_node() = optimizer;
  }
  return algorithm;
}

DraftInfo info_from_fields(const UnknownFieldSet& fields) {
  DraftInfo info;
  info.initializers = read_all<onnx::TensorProto>(fields, kInitializers, "initializers");
  info.inputs = read_all<onnx::ValueInfoProto>(fields, kInputs, "inputs");
  info.outputs = read_all<onnx::ValueInfoProto>(fields, kOutputs, "outputs");
  info.bindings = read_all<onnx::StringStringEntryProto>(fields, kUpdateBinding, "update_binding");
  const auto has = [&](int number) {
    for (int i = 0; i < fields.field_count(); ++i) {
      if (fields.field(i).number() == number) return true;
    }
    return false;
  };
  if (has(kGradient) || has(kOptimizer)) {
    info.algorithm = algorithm_of_parts(fields);
    return info;
  }
  const auto algorithms = read_all<onnx::FunctionProto>(fields, kAlgorithm, "algorithm");
  if (algorithms.size() != 1) {
    throw Error("the training_info of its 2019 draft format has no algorithm, or several");
  }
  info.algorithm = algorithms[0];
  return info;
}

}  // namespace

bool has_draft_parts(const onnx::ModelProto& model) {
  const UnknownFieldSet& fields = model.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const int number = fields.field(i).number();
    if (number == kFunctions || number == kTrainingInfo) return true;
  }
  return false;
}

DraftParts read_draft_parts(const onnx::ModelProto& model) {
  const UnknownFieldSet& fields = model.unknown_fields();
  DraftParts parts;
  parts.functions = read_all<onnx::FunctionProto>(fields, kFunctions, "functions");
  for (int i = 0; i < fields.field_count(); ++i) {
    if (fields.field(i).number() != kTrainingInfo) continue;
    UnknownFieldSet info;
    read(fields.field(i), "training_info", info);
    parts.infos.push_back(info_from_fields(info));
  }
  return parts;
}

void add_draft_parts(onnx::ModelProto& model, const DraftParts& parts) {
  UnknownFieldSet& fields = *model.mutable_unknown_fields();
  add_all(fields, kFunctions, parts.functions);
  for (const DraftInfo& info : parts.infos) {
    UnknownFieldSet within;
    add_all(within, kInitializers, info.initializers);
    add_all(within, kInputs, info.inputs);
    add_all(within, kOutputs, info.outputs);
    within.AddLengthDelimited(kAlgorithm, info.algorithm.SerializeAsString());
    add_all(within, kUpdateBinding, info.bindings);
    within.SerializeToString(fields.AddLengthDelimited(kTrainingInfo));
  }
}

void remove_draft_parts(onnx::ModelProto& model) {
  model.mutable_unknown_fields()->DeleteByNumber(kFunctions);
  model.mutable_unknown_fields()->DeleteByNumber(kTrainingInfo);
}

onnx::AttributeProto string_attribute(const std::string& name, const std::string& value) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
  return attribute;
}

onnx::AttributeProto strings_attribute(const std::string& name,
                                       const std::vector<std::string>& values) {
  onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRINGS);
  for (const std::string& value : values) attribute.add_strings(value);
  return attribute;
}

onnx::ValueInfoProto typed_as(const onnx::TensorProto& tensor, const std::string& name) {
  onnx::ValueInfoProto value;
  value.set_name(name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(tensor.data_type());
  type.mutable_shape();
  for (const int64_t dim : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
  return value;
}

}  // namespace onward
