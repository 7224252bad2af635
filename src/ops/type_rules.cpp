#include "ops/type_rules.h"

namespace onward {

std::vector<InferredOutput> of_given_shape(const Node& node, size_t like, size_t shape,
                                           const KnownData& known) {
  const DType dtype = node.input(like)->type.dtype;
  const auto vector = known.find(*node.input(shape));
  if (!vector || vector->rank() != 1) return {{.type = Type::tensor(dtype)}};
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
