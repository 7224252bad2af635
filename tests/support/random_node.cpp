#include "tests/support/random_node.h"

#include <fmt/format.h>
#include <onnx/defs/data_type_utils.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "proto/proto.h"

namespace onward {
namespace {

constexpr int64_t kExtremes[] = {0,
                                 -1,
                                 int64_t{1} << 31,
                                 -(int64_t{1} << 31),
                                 (int64_t{1} << 31) - 1,
                                 int64_t{1} << 32,
                                 int64_t{1} << 40,
                                 1000000,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};

constexpr std::string_view kStrings[] = {"",          "SAME_UPPER",    "SAME_LOWER",
                                         "VALID",     "NOTSET",        "ij,jk->ik",
                                         "...i,i...", "ii->i",         "i,j,k",
                                         "->",        "a b->b a",      "...->...",
                                         "forward",   "bidirectional", "reverse",
                                         "linear",    "nearest",       "cubic",
                                         "constant",  "reflect",       "edge",
                                         "wrap",      "sum",           "mean",
                                         "none",      "DCR",           "CRD",
                                         "TF",        "TFIDF",         "LINEAR",
                                         "SOFTMAX",   "not_larger",    "not_smaller",
                                         "stretch",   "TO_FLOAT",      "DENSE",
                                         "0",         "avg",           "max",
                                         "relu",      "float",         "RGB",
                                         "ij,jk->",   "i->ij",         "ijk...,k->...i",
                                         "0123,ab->", "...ij,...jk->", "abc,,d->"};

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::i64,  DType::i32, DType::boolean,
                            DType::u8,  DType::f16, DType::bf16, DType::i4,  DType::string};

}  // namespace

int64_t RandomNode::number() {
  if (tame_ && chance(0.95)) return static_cast<int64_t>(below(3)) + 1;
  if (chance(0.75)) return static_cast<int64_t>(below(9)) - 2;
  if (chance(0.3)) return static_cast<int64_t>(random_());
  return pick(kExtremes);
}

std::vector<int64_t> RandomNode::numbers() {
  const size_t spatial = rank_ < 2 ? 0 : rank_ - 2;
  const size_t lengths[] = {rank_, spatial, spatial, 2 * rank_, 2 * spatial, below(8)};
  const size_t count = pick(lengths);
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(number());
  return numbers;
}

Dim RandomNode::dim() {
  if (tame_ && chance(0.9)) return Dim::known(chance(0.7) ? 4 : static_cast<int64_t>(below(6)));
  if (chance(0.6)) return Dim::known(static_cast<int64_t>(below(6)));
  if (chance(0.3)) return Dim::named(chance(0.5) ? "N" : "M");
  if (chance(0.3)) return {};
  return Dim::known(number());
}

Shape RandomNode::shape() {
  Shape shape;
  const size_t rank = chance(tame_ ? 0.85 : 0.7) ? rank_ : below(7);
  for (size_t i = 0; i < rank; ++i) shape.push_back(dim());
  return shape;
}

Type RandomNode::with_shapes(Type type) {
  if (type.element) type.element = std::make_shared<const Type>(with_shapes(*type.element));
  const bool shaped = type.kind == Type::Kind::tensor || type.kind == Type::Kind::sparse_tensor;
  if (shaped && chance(0.85)) type.shape = shape();
  return type;
}

Type RandomNode::input_type(const onnx::OpSchema::FormalParameter& parameter) {
  if (chance(0.02)) return Type::unknown();
  if (chance(0.01)) return with_shapes(Type::sequence(Type::tensor(pick(kTypes))));
  if (chance(0.01)) return Type::sequence(Type::unknown());
  if (chance(0.01)) return with_shapes(Type::optional(Type::tensor(pick(kTypes))));
  if (chance(0.01)) return with_shapes(Type::tensor(DType::undefined));
  if (chance(0.02)) return with_shapes(Type::tensor(pick(kTypes)));
  for (const auto& [name, type] : bound_) {
    if (name == parameter.GetTypeStr() && parameter.GetIsHomogeneous()) return with_shapes(type);
  }
  std::vector<std::string> names;
  for (const std::string* name : parameter.GetTypes()) names.push_back(*name);
  if (names.empty()) return with_shapes(Type::tensor(pick(kTypes)));
  std::ranges::sort(names);  // the set is ordered by address, which no seed reproduces
  const auto* chosen = onnx::Utils::DataTypeUtils::ToType(pick(names));
  const Type type = type_from_proto(onnx::Utils::DataTypeUtils::ToTypeProto(chosen));
  bound_.emplace_back(parameter.GetTypeStr(), type);
  return with_shapes(type);
}

Tensor RandomNode::tensor(DType dtype) {
  std::vector<int64_t> dims;
  if (chance(0.9)) dims.push_back(static_cast<int64_t>(chance(0.6) ? rank_ : below(8)));
  if (chance(0.1)) dims.push_back(static_cast<int64_t>(below(3)));
  const int64_t count = *element_count(dims);
  if (dtype == DType::string) {
    return Tensor::of_strings(dims, std::vector<std::string>(static_cast<size_t>(count), "a"));
  }
  if (dtype == DType::i64) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(number());
    return Tensor::of<int64_t>(dims, values);
  }
  if (dtype == DType::i32) {
    std::vector<int32_t> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<int32_t>(number()));
    return Tensor::of<int32_t>(dims, values);
  }
  if (dtype == DType::f32) {
    constexpr float kFloats[] = {0,      1,      2,   0.5F,     -1,       1e30F,
                                 -1e30F, 1e-30F, NAN, INFINITY, -INFINITY};
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(pick(kFloats));
    return Tensor::of<float>(dims, values);
  }
  if (dtype == DType::f64) {
    constexpr double kDoubles[] = {0, 1, 2, 0.5, -1, 1e300, -1e300, NAN, INFINITY, -INFINITY};
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(pick(kDoubles));
    return Tensor::of<double>(dims, values);
  }
  auto bytes = std::make_shared<std::string>();
  for (int64_t i = 0; i < *packed_bytes(dtype, count); ++i) {
    bytes->push_back(static_cast<char>(below(dtype == DType::boolean ? 2 : 256)));
  }
  return Tensor::from_bytes(dtype, dims, std::move(bytes));
}

Value* RandomNode::input(Graph& graph, const onnx::OpSchema::FormalParameter& parameter,
                         size_t index) {
  if (chance(parameter.GetOption() == onnx::OpSchema::Single ? 0.01 : 0.2)) return nullptr;
  const Type type = input_type(parameter);
  const std::string name = fmt::format("x{}", index);
  const bool initialized = type.is_tensor() && type.dtype != DType::undefined && chance(0.4);
  return initialized ? graph.add_initializer(name, tensor(type.dtype))
                     : graph.add_input(name, type);
}

std::unique_ptr<Graph> RandomNode::subgraph(const std::string& name, Graph& around) {
  auto graph = std::make_unique<Graph>(&around);
  std::vector<Value*> values(around.inputs().begin(), around.inputs().end());
  const bool fitting = chance(0.9);
  const bool branch = name.ends_with("_branch");
  const size_t inputs = !fitting ? below(5) : branch ? 0 : name.ends_with("_mod") ? 1 : inputs_;
  const size_t outputs = !fitting ? below(5) : outputs_ + (op_ == "Loop" ? 1 : 0);
  for (size_t i = 0; i < inputs; ++i) {
    values.push_back(
        graph->add_input(fmt::format("s{}", i),
                         chance(0.3) ? with_shapes(Type::tensor(pick(kTypes))) : Type::unknown()));
  }
  for (size_t i = 0; i < outputs; ++i) {
    Value* output = nullptr;
    if (!values.empty() && chance(0.9)) {
      // A tame body passes its inputs on; those of a Loop begin with the number of the iteration.
      const size_t place = i + (op_ == "Loop" ? 1 : 0);
      Value* passed = tame_ ? values[std::min(place, values.size() - 1)] : pick(values);
      Node* node = graph->add_node("Identity", {passed});
      node->opset = 16;
      output = node->add_output(fmt::format("t{}", i));
    } else {
      Node* node = graph->add_node("Constant", {});
      node->opset = 13;
      node->set_attribute({.name = "value", .value = tensor(pick(kTypes)), .doc = {}});
      output = node->add_output(fmt::format("t{}", i));
    }
    graph->add_output(output);
  }
  return graph;
}

Attribute::Payload RandomNode::payload(onnx::AttributeProto::AttributeType type,
                                       const std::string& name, Graph& graph) {
  switch (type) {
    case onnx::AttributeProto::FLOAT:
      return chance(0.5) ? 0.5F : 1e30F;
    case onnx::AttributeProto::INT:
      if ((name == "to" || name.find("dtype") != std::string::npos) && chance(0.8)) {
        return static_cast<int64_t>(below(30));
      }
      return chance(0.5)   ? static_cast<int64_t>(below(4))
             : chance(0.5) ? static_cast<int64_t>(below(30)) - 15
                           : number();
    case onnx::AttributeProto::STRING:
      if (name == "equation" && chance(0.7)) {
        std::string equation;
        for (size_t i = 0, count = below(20); i < count; ++i) {
          constexpr std::string_view kParts[] = {"i",   "j", "K", ",", "->",
                                                 "...", ".", " ", "0", "-"};
          equation += kParts[chance(0.7) ? below(4) : below(std::size(kParts))];
        }
        return equation;
      }
      return std::string(pick(kStrings));
    case onnx::AttributeProto::TENSOR:
      return tensor(pick(kTypes));
    case onnx::AttributeProto::SPARSE_TENSOR:
      return SparseTensor{
          .dims = numbers(), .values = tensor(DType::f32), .indices = tensor(DType::i64)};
    case onnx::AttributeProto::TYPE_PROTO:
      return chance(0.5) ? with_shapes(Type::tensor(pick(kTypes)))
                         : Type::sequence(with_shapes(Type::tensor(pick(kTypes))));
    case onnx::AttributeProto::GRAPH:
      return subgraph(name, graph);
    case onnx::AttributeProto::FLOATS:
      return std::vector<float>(below(8), 1.5F);
    case onnx::AttributeProto::INTS:
      return numbers();
    case onnx::AttributeProto::STRINGS:
      return std::vector<std::string>(below(5), std::string(pick(kStrings)));
    case onnx::AttributeProto::TENSORS:
      return std::vector<Tensor>{tensor(pick(kTypes))};
    default:
      return std::monostate();
  }
}

Attribute RandomNode::attribute(const onnx::OpSchema::Attribute& declared, Graph& graph) {
  auto type = declared.type;
  if (chance(0.005)) {
    constexpr onnx::AttributeProto::AttributeType kOthers[] = {
        onnx::AttributeProto::INT,    onnx::AttributeProto::INTS,
        onnx::AttributeProto::FLOAT,  onnx::AttributeProto::STRING,
        onnx::AttributeProto::TENSOR, onnx::AttributeProto::UNDEFINED};
    type = pick(kOthers);
  }
  return {.name = declared.name, .value = payload(type, declared.name, graph), .doc = {}};
}

Model RandomNode::make(const onnx::OpSchema& schema) {
  bound_.clear();
  op_ = schema.Name();
  tame_ = chance(0.5);
  rank_ = below(7);
  Model model;
  model.ir_version = chance(0.1) ? 3 : 10;
  model.opsets = {{schema.domain(), schema.since_version()}};
  Graph& graph = *model.graph;

  const auto count = [&](int lowest, int highest, size_t formal) {
    if (chance(0.01)) return below(8);
    const size_t most = std::min<size_t>(static_cast<size_t>(highest), formal + 4);
    return static_cast<size_t>(lowest) + below(most - static_cast<size_t>(lowest) + 1);
  };
  inputs_ = count(schema.min_input(), schema.max_input(), schema.inputs().size());
  outputs_ = count(schema.min_output(), schema.max_output(), schema.outputs().size());

  std::vector<Value*> values;
  for (size_t i = 0; i < inputs_; ++i) {
    static const onnx::OpSchema::FormalParameter kAnything;
    const auto& formal = schema.inputs();
    values.push_back(
        input(graph, formal.empty() ? kAnything : formal[std::min(i, formal.size() - 1)], i));
  }
  Node* node = graph.add_node(schema.Name(), values);
  node->domain = schema.domain();
  node->opset = schema.since_version();
  const size_t only = below(schema.attributes().size() + 1);  // a Constant must have just one
  size_t place = 0;
  for (const auto& [name, declared] : schema.attributes()) {
    const bool chosen =
        tame_ ? place++ == only || chance(op_ == "Constant" ? 0.01 : 0.2) : chance(0.5);
    if (chance(declared.required ? 0.99 : 0) || chosen) {
      node->set_attribute(attribute(declared, graph));
    }
  }
  for (size_t i = 0; i < outputs_; ++i) {
    Value* output = node->add_output(chance(0.95) ? fmt::format("y{}", i) : "");
    if (output && chance(0.1)) output->type = with_shapes(Type::tensor(pick(kTypes)));
    if (output) graph.add_output(output);
  }
  return model;
}

}  // namespace onward
