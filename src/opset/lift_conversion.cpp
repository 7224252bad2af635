#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "onward/error.h"
#include "opset/lift_steps.h"

namespace onward {
namespace {

// Opset 1 names the type as the enumeration of TensorProto does: "FLOAT", "INT64".
void turn_type_name_into_number(Rewrite& rewrite) {
  const std::string given = rewrite.node().string_or("to", "");
  std::string text = given;
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto dtype = dtype_from_name(text);
  if (!dtype || onnx_name(*dtype) != text) {
    throw Error(fmt::format("'{}' is not the name of an element type", given));
  }
  set_attribute(rewrite.node(), "to", static_cast<int64_t>(*dtype));
}

// Saturating casts of infinity to these types gave NaN up to opset 23, and give the largest number
// since.
void refuse_changed_infinity(DType to, bool saturates) {
  if (saturates && (to == DType::f8e4m3fnuz || to == DType::f8e5m2fnuz)) {
    throw Error(fmt::format("what infinity becomes in {} has changed since", onnx_name(to)));
  }
}

void keep_cast_of_infinity(Rewrite& rewrite) {
  const Node& node = rewrite.node();
  const auto to = dtype_from_onnx(node.int_or("to", 0));
  if (!to) throw Error(fmt::format("{} is not an element type", node.int_or("to", 0)));
  refuse_changed_infinity(*to, node.int_or("saturate", 1) != 0);
}

void keep_cast_like_of_infinity(Rewrite& rewrite) {
  const Node& node = rewrite.node();
  const Type& target = node.input(1)->type;
  if (!target.is_tensor()) {
    throw Error(fmt::format("the element type of '{}' is not known", node.input(1)->name()));
  }
  refuse_changed_infinity(target.dtype, node.int_or("saturate", 1) != 0);
}

// Without a zero point and an output type, the result is u8.
void keep_quantization_of_infinity(Rewrite& rewrite) {
  const Node& node = rewrite.node();
  const bool saturates = node.int_or("saturate", 1) != 0;
  const auto output = dtype_from_onnx(node.int_or("output_dtype", 0));
  if (output) refuse_changed_infinity(*output, saturates);
  const Value* zero = node.input(2);
  if (!zero) return;
  if (!zero->type.is_tensor()) {
    throw Error(fmt::format("the element type of '{}' is not known", zero->name()));
  }
  refuse_changed_infinity(zero->type.dtype, saturates);
}

// A scale with one dimension for a vector was one scale for all of it, or one for each element
// along `axis`; since opset 21 it is the latter alone.
void settle_scale_of_vector(Rewrite& rewrite) {
  Node& node = rewrite.node();
  const Value *x = node.input(0), *scale = node.input(1);
  const auto rank_x = rank(x);
  if (rank(scale) == 0 || (rank_x && *rank_x != 1)) return;
  const auto size = [](const Value* value) {
    return rank(value) == 1 ? (*value->type.shape)[0].value : std::nullopt;
  };
  const int64_t axis = node.int_or("axis", 1);
  if (rank_x && size(x) && size(x) == size(scale) && (axis == 0 || axis == -1)) return;
  if (!rank_x || size(scale) != 1) {
    throw Error(fmt::format("what a scale {} means for '{}' {} has changed since",
                            to_string(scale->type), x->name(), to_string(x->type)));
  }
  for (const size_t input : {1U, 2U}) {
    if (!node.input(input)) continue;
    Value* no_dims = rewrite.constant(std::vector<int64_t>{}, "no_dims");
    const char* role = input == 1 ? "scale" : "zero_point";
    node.set_input(input, rewrite.add("Reshape", {node.input(input), no_dims}, role));
  }
}

constexpr LiftStep kConversionSteps[] = {
    {"Cast", 1, 6, turn_type_name_into_number},
    {"Cast", 23, 24, keep_cast_of_infinity},
    {"CastLike", 23, 24, keep_cast_like_of_infinity, true},
    {"DequantizeLinear", 19, 21, settle_scale_of_vector, true},
    {"QuantizeLinear", 19, 21, settle_scale_of_vector, true},
    {"QuantizeLinear", 23, 24, keep_quantization_of_infinity, true},
};

}  // namespace

std::span<const LiftStep> conversion_lift_steps() { return kConversionSteps; }

}  // namespace onward
