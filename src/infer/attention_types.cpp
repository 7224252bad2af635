#include "infer/attention_types.h"

#include <algorithm>
#include <iterator>

#include "ir/dim_arithmetic.h"

namespace onward {
namespace {

/// Of which even the rank may be unknown.
Dim dim_at(const Node& node, size_t input, size_t axis) {
  const Value* value = node.input(input);
  if (!value || !value->type.shape || axis >= value->type.shape->size()) return {};
  return (*value->type.shape)[axis];
}

Dim heads_of(const Node& node, const char* attribute) {
  const auto* given = node.get<int64_t>(attribute);
  return given && *given > 0 ? Dim::known(*given) : Dim();
}

}  // namespace

void infer_attention(const Node& node, std::span<Type> outputs) {
  const Type &q = node.input(0)->type, &v = node.input(2)->type;
  if (!q.is_tensor() || !v.is_tensor()) return;
  const DType dtypes[] = {q.dtype, q.dtype, v.dtype, q.dtype};
  for (size_t i = 0; i < std::min(outputs.size(), std::size(dtypes)); ++i) {
    outputs[i] = Type::tensor(dtypes[i]);
  }
  if (!q.shape || (q.shape->size() != 3 && q.shape->size() != 4)) return;
  const bool packed = q.shape->size() == 3;
  const Dim batch = dim_at(node, 0, 0), queries = dim_at(node, 0, packed ? 1 : 2);
  const Dim q_heads = packed ? heads_of(node, "q_num_heads") : dim_at(node, 0, 1);
  const Dim kv_heads = packed ? heads_of(node, "kv_num_heads") : dim_at(node, 1, 1);
  const Dim size = packed ? divide(dim_at(node, 0, 2), q_heads) : dim_at(node, 0, 3);
  const Dim value_size = packed ? divide(dim_at(node, 2, 2), kv_heads) : dim_at(node, 2, 3);
  const Dim own = dim_at(node, 1, packed ? 1 : 2);
  const Dim keys = node.input(4) ? add(dim_at(node, 4, 2), own) : own;
  const Shape shapes[] = {packed ? Shape{batch, queries, multiply(q_heads, value_size)}
                                 : Shape{batch, q_heads, queries, value_size},
                          {batch, kv_heads, keys, size},
                          {batch, kv_heads, keys, value_size},
                          {batch, q_heads, queries, keys}};
  for (size_t i = 0; i < std::min(outputs.size(), std::size(shapes)); ++i) {
    outputs[i].shape = shapes[i];
  }
}

}  // namespace onward
