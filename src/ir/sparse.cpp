#include "ir/sparse.h"

#include <fmt/format.h>

#include "ir/memory_limit.h"
#include "onward/error.h"

namespace onward {
namespace {

int64_t checked_place(int64_t index, int64_t size) {
  if (index >= 0 && index < size) return index;
  throw Error(fmt::format("its index {} lies outside of a dimension of {}", index, size));
}

/// Where value `i` lies: a linear index, or one for each dimension.
int64_t place_of(const SparseTensor& sparse, int64_t i) {
  if (sparse.indices.dims().size() == 1) {
    return checked_place(sparse.indices.integer(i), checked_element_count(sparse.dims));
  }
  const auto rank = static_cast<int64_t>(sparse.dims.size());
  int64_t place = 0;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = sparse.dims[static_cast<size_t>(d)];
    place = place * size + checked_place(sparse.indices.integer(i * rank + d), size);
  }
  return place;
}

}  // namespace

void check_indices(const SparseTensor& sparse) {
  for (int64_t i = 0; i < sparse.values.size(); ++i) place_of(sparse, i);
}

Tensor to_dense(const SparseTensor& sparse) {
  const DType dtype = sparse.values.dtype();
  if (dtype == DType::string || bits(dtype) % 8 != 0) {
    throw Error(fmt::format("a sparse tensor of {} can't be made dense", name(dtype)));
  }
  const auto width = static_cast<size_t>(bits(dtype) / 8);
  auto bytes =
      std::make_shared<std::string>(static_cast<size_t>(checked_bytes(dtype, sparse.dims)), '\0');
  const auto* from = reinterpret_cast<const char*>(sparse.values.bytes().data());
  for (int64_t i = 0; i < sparse.values.size(); ++i) {
    bytes->replace(static_cast<size_t>(place_of(sparse, i)) * width, width,
                   from + static_cast<size_t>(i) * width, width);
  }
  return Tensor::from_bytes(dtype, sparse.dims, std::move(bytes));
}

namespace {

void make_dense(Graph& graph) {
  for (Value* value : graph.initializers()) {
    const SparseTensor* sparse = value->initializer()->sparse();
    if (!sparse) continue;
    try {
      graph.set_initializer(value, to_dense(*sparse));
    } catch (Error& error) {
      error.add_context(fmt::format("in tensor '{}'", value->name()));
      throw;
    }
    value->type = value->tensor()->type();
  }
  for (const auto& node : graph.nodes()) {
    for (Graph* subgraph : node->subgraphs()) make_dense(*subgraph);
  }
}

}  // namespace

void make_dense(Model& model) {
  for_each_top_level_graph(model, [](Graph& graph, GraphRole) { make_dense(graph); });
}

}  // namespace onward
