#include "infer/guards.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "infer/operator_guards.h"

namespace onward {
namespace {

/// Rules copy the shape of an input to each output, so that a short file could ask for gigabytes.
constexpr size_t kMaxInputs = 65536;
constexpr size_t kMaxOutputs = 16384;

Refusal arity(std::string message) { return {"arity", "", std::move(message)}; }
Refusal attribute_refusal(std::string message) { return {"attribute", "", std::move(message)}; }

std::string counted(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::optional<Refusal> check_count(size_t count, int lowest, int highest, std::string_view what) {
  const auto number = static_cast<int64_t>(count);
  if (number >= lowest && number <= highest) return std::nullopt;
  const std::string expected = highest == std::numeric_limits<int>::max()
                                   ? fmt::format("at least {}", lowest)
                               : lowest == highest ? fmt::format("{}", lowest)
                                                   : fmt::format("{} to {}", lowest, highest);
  return arity(fmt::format("it has {}, but takes {}", counted(count, what), expected));
}

std::optional<Refusal> check_arity(const Node& node, const onnx::OpSchema& schema) {
  if (node.inputs().size() > kMaxInputs || node.outputs().size() > kMaxOutputs) {
    return arity(fmt::format("it has {} and {}, more than is supported",
                             counted(node.inputs().size(), "input"),
                             counted(node.outputs().size(), "output")));
  }
  if (auto refusal =
          check_count(node.inputs().size(), schema.min_input(), schema.max_input(), "input")) {
    return refusal;
  }
  if (auto refusal =
          check_count(node.outputs().size(), schema.min_output(), schema.max_output(), "output")) {
    return refusal;
  }
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    // The last parameter stands for all that follow, where it is variadic.
    const auto& parameter = schema.inputs()[std::min(i, schema.inputs().size() - 1)];
    if (!node.input(i) && parameter.GetOption() != onnx::OpSchema::Optional) {
      return arity(fmt::format("input {} ({}) is required", i, parameter.GetName()));
    }
  }
  return std::nullopt;
}

/// What an attribute holds, in the order of Attribute::Payload.
struct PayloadKind {
  onnx::AttributeProto::AttributeType type;
  std::string_view name;
};
constexpr PayloadKind kPayloadKinds[] = {
    {onnx::AttributeProto::UNDEFINED, "nothing"},
    {onnx::AttributeProto::FLOAT, "a float"},
    {onnx::AttributeProto::INT, "an int"},
    {onnx::AttributeProto::STRING, "a string"},
    {onnx::AttributeProto::TENSOR, "a tensor"},
    {onnx::AttributeProto::SPARSE_TENSOR, "a sparse tensor"},
    {onnx::AttributeProto::TYPE_PROTO, "a type"},
    {onnx::AttributeProto::GRAPH, "a graph"},
    {onnx::AttributeProto::FLOATS, "a list of floats"},
    {onnx::AttributeProto::INTS, "a list of ints"},
    {onnx::AttributeProto::STRINGS, "a list of strings"},
    {onnx::AttributeProto::TENSORS, "a list of tensors"},
    {onnx::AttributeProto::SPARSE_TENSORS, "a list of sparse tensors"},
    {onnx::AttributeProto::TYPE_PROTOS, "a list of types"},
    {onnx::AttributeProto::GRAPHS, "a list of graphs"},
};
static_assert(std::size(kPayloadKinds) + 1 == std::variant_size_v<Attribute::Payload>);

PayloadKind kind_of(const Attribute& attribute) {
  if (const auto* references = std::get_if<References>(&attribute.value)) {
    return references->single ? PayloadKind{onnx::AttributeProto::STRING, "a string"}
                              : PayloadKind{onnx::AttributeProto::STRINGS, "a list of strings"};
  }
  return kPayloadKinds[attribute.value.index()];
}

std::string_view name_of(onnx::AttributeProto::AttributeType type) {
  for (const PayloadKind& kind : kPayloadKinds) {
    if (kind.type == type) return kind.name;
  }
  return "something else";
}

/// Axes, counts, sizes and flags are small, and rules cut what they get to 32 bits. These are
/// values of the data, or may be as large as it takes to mean "all".
constexpr std::string_view kAnyInt[] = {
    "default_int64",    "end",  "ignore_index", "k",         "left_window_size",
    "maxsplit",         "seed", "start",        "value_int", "replaced_value_int64",
    "right_window_size"};

/// What is neither 0 nor 1 is read as either by one rule or kernel or another.
constexpr std::string_view kFlags[] = {
    "allowzero",     "antialias",       "ceil_mode", "center_point_box",     "count_include_pad",
    "keepdims",      "exclude_outside", "largest",   "noop_with_empty_axes", "sorted",
    "storage_order", "training_mode"};

bool is_in_range(std::string_view name, int64_t number) {
  if (std::ranges::count(kFlags, name) > 0) return number == 0 || number == 1;
  if (std::ranges::count(kAnyInt, name) > 0) return true;
  return number >= std::numeric_limits<int32_t>::min() &&
         number <= std::numeric_limits<int32_t>::max();
}

/// Attributes that the schema does not declare are another check's concern: no rule sees them.
std::optional<Refusal> check_attributes(const Node& node, const onnx::OpSchema& schema) {
  for (const auto& [name, declared] : schema.attributes()) {
    const Attribute* attribute = node.attribute(name);
    if (!attribute) {
      if (declared.required)
        return attribute_refusal(fmt::format("attribute '{}' is missing", name));
      continue;
    }
    if (const PayloadKind kind = kind_of(*attribute); kind.type != declared.type) {
      return attribute_refusal(fmt::format("attribute '{}' is {}, but must be {}", name, kind.name,
                                           name_of(declared.type)));
    }
    const auto* number = std::get_if<int64_t>(&attribute->value);
    if (number && !is_in_range(name, *number)) {
      return attribute_refusal(
          fmt::format("attribute '{}' is {}, which is out of range", name, *number));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> guard(const Node& node, const onnx::OpSchema& schema,
                             const KnownData& known) {
  if (auto refusal = check_arity(node, schema)) return refusal;
  if (auto refusal = check_attributes(node, schema)) return refusal;
  return guard_operator(Operands(node, known));
}

}  // namespace onward
