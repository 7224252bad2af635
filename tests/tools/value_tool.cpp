// Runs a model on values that need not be tensors, for the Python tests:
//   value_tool MODEL FOLDER  reads FOLDER/input_<i>.pb and writes FOLDER/output_<i>.pb, which hold
//   a
//                            TensorProto, MapProto, SequenceProto or OptionalProto, as the model's
//                            types say

#include <fmt/format.h>
#include <onnx/onnx-data.pb.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "eval/interpreter.h"
#include "format/load.h"
#include "onward/error.h"
#include "ops/infer_step.h"
#include "opset/lift.h"
#include "proto/proto.h"

namespace onward {
namespace {

namespace fs = std::filesystem;
using eval::RuntimeValue;

RuntimeValue from_message(const onnx::TensorProto& proto, const Type&) {
  return tensor_from_proto(proto, {});
}

RuntimeValue from_message(const onnx::MapProto& proto, const Type&) {
  eval::RuntimeMap map;
  if (proto.key_type() == onnx::TensorProto::STRING) {
    map.keys = Tensor::of_strings({proto.string_keys_size()},
                                  {proto.string_keys().begin(), proto.string_keys().end()});
  } else {
    const std::vector<int64_t> keys(proto.keys().begin(), proto.keys().end());
    map.keys = Tensor::of<int64_t>({proto.keys_size()}, keys);
  }
  for (const auto& tensor : proto.values().tensor_values()) {
    map.values.emplace_back(tensor_from_proto(tensor, {}));
  }
  return map;
}

RuntimeValue from_message(const onnx::SequenceProto& proto, const Type& type) {
  eval::RuntimeSequence sequence{.element = *type.element, .values = {}};
  for (const auto& tensor : proto.tensor_values()) {
    sequence.values.emplace_back(tensor_from_proto(tensor, {}));
  }
  return sequence;
}

RuntimeValue from_message(const onnx::OptionalProto& proto, const Type& type) {
  eval::RuntimeOptional optional{.element = *type.element, .value = {}};
  if (proto.has_tensor_value()) {
    optional.value.push_back(from_message(proto.tensor_value(), *type.element));
  } else if (proto.has_sequence_value()) {
    optional.value.push_back(from_message(proto.sequence_value(), *type.element));
  }
  return optional;
}

template <typename Message>
RuntimeValue read(const fs::path& file, const Type& type) {
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  Message proto;
  if (!proto.ParseFromString(bytes.str())) throw Error(file.string() + " is no such value");
  return from_message(proto, type);
}

RuntimeValue read_value(const fs::path& file, const Type& type) {
  if (type.kind == Type::Kind::sequence) return read<onnx::SequenceProto>(file, type);
  if (type.kind == Type::Kind::optional) return read<onnx::OptionalProto>(file, type);
  if (type.kind == Type::Kind::map) return read<onnx::MapProto>(file, type);
  return read<onnx::TensorProto>(file, type);
}

onnx::MapProto to_message(const eval::RuntimeMap& map) {
  onnx::MapProto proto;
  const bool has_words = map.keys.dtype() == DType::string;
  proto.set_key_type(has_words ? onnx::TensorProto::STRING : onnx::TensorProto::INT64);
  for (int64_t i = 0; i < map.keys.size(); ++i) {
    if (has_words) {
      proto.add_string_keys(map.keys.strings()[static_cast<size_t>(i)]);
    } else {
      proto.add_keys(static_cast<int64_t>(map.keys.number(i)));
    }
  }
  proto.mutable_values()->set_elem_type(onnx::SequenceProto::TENSOR);
  for (const RuntimeValue& value : map.values) {
    *proto.mutable_values()->add_tensor_values() = to_proto(value.tensor());
  }
  return proto;
}

onnx::SequenceProto to_message(const eval::RuntimeSequence& sequence) {
  onnx::SequenceProto proto;
  proto.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const RuntimeValue& value : sequence.values) {
    if (value.type().kind == Type::Kind::map) {
      proto.set_elem_type(onnx::SequenceProto::MAP);
      *proto.add_map_values() = to_message(value.map());
    } else {
      *proto.add_tensor_values() = to_proto(value.tensor());
    }
  }
  return proto;
}

std::string to_bytes(const RuntimeValue& value) {
  if (value.is_tensor()) return to_proto(value.tensor()).SerializeAsString();
  if (!value.is_optional()) return to_message(value.sequence()).SerializeAsString();
  onnx::OptionalProto proto;
  if (!value.optional().value.empty()) {
    const RuntimeValue& inside = value.optional().value[0];
    proto.set_elem_type(inside.is_tensor() ? onnx::OptionalProto::TENSOR
                                           : onnx::OptionalProto::SEQUENCE);
    if (inside.is_tensor()) {
      *proto.mutable_tensor_value() = to_proto(inside.tensor());
    } else {
      *proto.mutable_sequence_value() = to_message(inside.sequence());
    }
  }
  return proto.SerializeAsString();
}

void run(const fs::path& file, const fs::path& folder) {
  Model model = load(file);
  lift(model);
  infer_step_types(model);
  eval::Environment environment;
  const auto inputs = model.graph->inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    environment.emplace(inputs[i],
                        read_value(folder / fmt::format("input_{}.pb", i), inputs[i]->type));
  }
  eval::run_graph(*model.graph, environment);
  for (size_t i = 0; i < model.graph->outputs().size(); ++i) {
    std::ofstream(folder / fmt::format("output_{}.pb", i), std::ios::binary)
        << to_bytes(environment.at(model.graph->outputs()[i]));
  }
}

}  // namespace
}  // namespace onward

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  try {
    onward::run(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
