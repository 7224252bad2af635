#include "infer/constraints.h"

#include <fmt/format.h>
#include <onnx/defs/data_type_utils.h>

#include <algorithm>
#include <vector>

#include "infer/context.h"
#include "infer/infer.h"
#include "proto/proto.h"

namespace onward {
namespace {

/// f32 for tensor(float), seq(f32) for seq(tensor(float)).
std::string short_name(std::string text) {
  const std::string prefix = "tensor(";
  const size_t start = text.find(prefix);
  const size_t end = text.find(')');
  if (start == std::string::npos || end == std::string::npos) return text;
  const auto dtype =
      dtype_from_name(text.substr(start + prefix.size(), end - start - prefix.size()));
  if (dtype) text.replace(start, end + 1 - start, name(*dtype));
  return text;
}

std::string allowed_names(const onnx::DataTypeSet& types) {
  constexpr size_t kShown = 16;
  std::vector<std::string> names;
  for (const std::string* type : types) names.push_back(short_name(*type));
  std::ranges::sort(names);
  const bool shortened = names.size() > kShown;
  if (shortened) names.resize(kShown);
  return fmt::format("{}{}", fmt::join(names, ", "), shortened ? " ..." : "");
}

/// The last parameter stands for all that follow, where it is variadic.
const onnx::OpSchema::FormalParameter& parameter(
    const std::vector<onnx::OpSchema::FormalParameter>& parameters, size_t index) {
  return parameters[std::min(index, parameters.size() - 1)];
}

/// "input 0 'a' is f32".
std::string described(const std::string& what, const Value* value, const std::string& type) {
  const std::string name = value ? fmt::format(" '{}'", value->name()) : "";
  return fmt::format("{}{} is {}", what, name, short_name(type));
}

}  // namespace

std::optional<std::string> schema_type_name(const Type& type) {
  const auto element = [&]() -> std::optional<std::string> {
    return type.element ? schema_type_name(*type.element) : std::nullopt;
  };
  const bool has_dtype = type.dtype != DType::undefined;
  switch (type.kind) {
    case Type::Kind::tensor:
      if (has_dtype) return fmt::format("tensor({})", onnx_name(type.dtype));
      break;
    case Type::Kind::sparse_tensor:
      if (has_dtype) return fmt::format("sparse_tensor({})", onnx_name(type.dtype));
      break;
    case Type::Kind::sequence:
      if (const auto inner = element()) return fmt::format("seq({})", *inner);
      break;
    case Type::Kind::optional:
      if (const auto inner = element()) return fmt::format("optional({})", *inner);
      break;
    case Type::Kind::map:
      if (const auto inner = element(); inner && has_dtype) {
        return fmt::format("map({},{})", onnx_name(type.dtype), *inner);
      }
      break;
    case Type::Kind::opaque:
      return fmt::format("opaque({}{}{})", type.opaque_domain,
                         type.opaque_domain.empty() ? "" : ",", type.opaque_name);
    case Type::Kind::unknown:
      break;
  }
  return std::nullopt;
}

std::optional<Refusal> TypeConstraints::check(const Parameter& parameter, const Type& type,
                                              const Value* value, const std::string& what) {
  const auto name = schema_type_name(type);
  if (!name) return std::nullopt;
  const auto refusal = [&](std::string_view why) {
    return Refusal{"type", value ? value->name() : "",
                   fmt::format("{}, but {}", described(what, value, *name), why)};
  };

  const onnx::DataTypeSet& allowed = parameter.GetTypes();
  const auto equal = [&](const std::string* each) { return *each == *name; };
  if (!allowed.empty() && std::ranges::none_of(allowed, equal)) {
    return refusal(fmt::format("{} takes {}", node_.op, allowed_names(allowed)));
  }
  if (!parameter.GetIsHomogeneous()) return std::nullopt;
  const auto [found, added] =
      bound_.try_emplace(parameter.GetTypeStr(), Bound{*name, without_shapes(type), value, what});
  const Bound& bound = found->second;
  if (added || bound.name == *name) return std::nullopt;
  return refusal(fmt::format("{}, but {} requires the same type for both",
                             described(bound.what, bound.value, bound.name), node_.op));
}

std::optional<Refusal> TypeConstraints::check_inputs() {
  for (size_t i = 0; i < node_.inputs().size(); ++i) {
    const Value* value = node_.input(i);
    if (!value) continue;
    auto refusal =
        check(parameter(schema_.inputs(), i), read_type(*value), value, fmt::format("input {}", i));
    if (refusal) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> TypeConstraints::complete_outputs(std::span<Type> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Parameter& formal = parameter(schema_.outputs(), i);
    if (!outputs[i].known()) {
      const auto found = bound_.find(formal.GetTypeStr());
      const onnx::DataTypeSet& allowed = formal.GetTypes();
      if (allowed.size() == 1) {
        outputs[i] = type_from_proto(onnx::Utils::DataTypeUtils::ToTypeProto(*allowed.begin()));
      } else if (found != bound_.end()) {
        outputs[i] = found->second.type;
      }
    }
    auto refusal = check(formal, outputs[i], node_.output(i), fmt::format("output {}", i));
    if (refusal) return refusal;
  }
  return std::nullopt;
}

}  // namespace onward
