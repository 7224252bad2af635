#include "ops/type_rules.h"

namespace onward {
namespace {

constexpr int64_t kMaxRank = 64;  // more is no tensor that anybody has

}  // namespace

std::vector<InferredOutput> of_given_shape(const Node& node, size_t like, size_t shape,
                                           const KnownData& known) {
  const DType dtype = node.input(like)->type.dtype;
  const auto vector = known.find(*node.input(shape));
  if (!vector || vector->rank() != 1) {
    // As many dimensions as there are sizes, where at least that is known.
    const auto& length = node.input(shape)->type.shape;
    const bool has_one = length && length->size() == 1 && length->front().value;
    if (!has_one || *length->front().value > kMaxRank) return {{.type = Type::tensor(dtype)}};
    return {{.type = Type::tensor(dtype, Shape(static_cast<size_t>(*length->front().value)))}};
  }
  Shape dims;
  for (const Dim& element : vector->elements) {
    dims.push_back(element.value && *element.value < 0 ? Dim{} : element);
  }
  return {{.type = Type::tensor(dtype, std::move(dims))}};
}

std::vector<InferredOutput> of_same_shape(const Node& node, size_t like, size_t shaped) {
  return {{.type = Type::tensor(node.input(like)->type.dtype, node.input(shaped)->type.shape)}};
}

}  // namespace onward
