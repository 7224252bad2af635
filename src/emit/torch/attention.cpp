#include <fmt/format.h>

#include "emit/node_facts.h"
#include "emit/torch/calls.h"
#include "ir/rewrite.h"

namespace onward::emit::torch {
namespace {

std::optional<int64_t> known_size(const Value* value, size_t axis) {
  const auto& shape = value->type.shape;
  return shape && axis < shape->size() ? (*shape)[axis].value : std::nullopt;
}

/// Of the same element type as the queries, with heads of their own.
bool has_four_dimensions(const Node& node) {
  for (const size_t input : {0, 1, 2}) {
    const Value* value = node.input(input);
    if (rank(value) != 4 || value->type.dtype != node.input(0)->type.dtype) return false;
  }
  return known_size(node.input(0), 1) && known_size(node.input(1), 1);
}

/// A mask as long as the keys, which PyTorch broadcasts as ONNX does.
bool is_whole_mask(const Node& node) {
  const Value* mask = node.input(3);
  const auto own = rank(mask);
  if (!own || *own < 2) return false;
  const auto length = known_size(mask, static_cast<size_t>(*own - 1));
  return length && length == known_size(node.input(1), 2);
}

}  // namespace

std::string_view refuse_attention(const Node& node) {
  for (const size_t output : {1, 2, 3}) {
    if (node.output(output)) return "PyTorch's gives one result";
  }
  for (const size_t input : {4, 5, 6}) {
    if (node.input(input)) return "PyTorch's has no past";
  }
  const bool is_plain = node.float_or("softcap", 0) <= 0 &&
                        node.int_or("left_window_size", -1) < 0 &&
                        node.int_or("right_window_size", -1) < 0 &&
                        !node.attribute("softmax_precision") && node.float_or("scale", 1) >= 0;
  if (!is_plain) return "PyTorch's has no such attribute";
  if (!has_four_dimensions(node)) return "PyTorch's takes four dimensions of one type";
  if (!node.input(3)) return "";
  if (node.int_or("is_causal", 0) != 0) return "PyTorch's takes one mask";
  return is_whole_mask(node) ? "" : "PyTorch's takes whole masks";
}

std::string attention(const Call& c) {
  std::string options;
  if (c.has(3)) options += ", attn_mask=" + c.in(3);
  if (c.int_attribute("is_causal", 0) != 0) options += ", is_causal=True";
  if (c.node().attribute("scale")) options += ", scale=" + c.float_attribute("scale", 1);
  if (c.dim(0, 1) != c.dim(1, 1)) options += ", enable_gqa=True";
  return fmt::format("{}.scaled_dot_product_attention({}, {}, {}{})", c.module("F"), c.in(0),
                     c.in(1), c.in(2), options);
}

}  // namespace onward::emit::torch
