#include "recipe/initializers.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward {

bool is_constant_node(const Node& node) {
  return node.domain.empty() && node.op == "Constant" && node.get<Tensor>("value");
}

namespace {

Value* constant_to_initializer(Graph& graph, Value* value) {
  Node* node = value->producer();
  const std::string name = value->name();
  Value* initializer = graph.add_initializer("", *node->get<Tensor>("value"));
  initializer->doc = value->doc;
  initializer->metadata = value->metadata;
  graph.replace_uses(value, initializer);
  graph.remove_node(node);
  graph.rename(initializer, name);
  return initializer;
}

/// Elements given by their place: a linear index, or one for each dimension.
Tensor to_dense(const SparseTensor& sparse) {
  const DType dtype = sparse.values.dtype();
  const auto width = static_cast<size_t>(bits(dtype) / 8);
  const auto count = static_cast<size_t>(checked_element_count(sparse.dims));
  auto bytes = std::make_shared<std::string>(count * width, '\0');
  const size_t rank = sparse.dims.size();
  const bool linear = sparse.indices.dims().size() == 1;
  for (int64_t i = 0; i < sparse.values.size(); ++i) {
    int64_t place = 0;
    if (linear) {
      place = sparse.indices.integer(i);
    } else {
      for (size_t d = 0; d < rank; ++d) {
        place = place * sparse.dims[d] +
                sparse.indices.integer(i * static_cast<int64_t>(rank) + static_cast<int64_t>(d));
      }
    }
    if (place < 0 || place >= static_cast<int64_t>(count)) {
      throw Error(fmt::format("index {} of a sparse tensor lies outside of it", place));
    }
    const auto* from = reinterpret_cast<const char*>(sparse.values.bytes().data());
    bytes->replace(static_cast<size_t>(place) * width, width, from + static_cast<size_t>(i) * width,
                   width);
  }
  return Tensor::from_bytes(dtype, sparse.dims, std::move(bytes));
}

}  // namespace

std::vector<Value*> as_initializers(Graph& graph, const std::vector<Value*>& values) {
  std::vector<Value*> initializers;
  for (Value* value : values) {
    if (!value->initializer()) {
      value = constant_to_initializer(graph, value);
    } else if (const SparseTensor* sparse = value->initializer()->sparse()) {
      graph.set_initializer(value, to_dense(*sparse));
      value->type = value->tensor()->type();
    }
    initializers.push_back(value);
  }
  return initializers;
}

void make_statistics_initializers(Graph& graph) {
  std::vector<Value*> statistics;
  for (const auto& node : graph.nodes()) {
    if (!node->domain.empty() || node->op != "BatchNormalization") continue;
    for (const size_t input : {3, 4}) {
      Value* value = node->input(input);
      const bool listed =
          std::find(statistics.begin(), statistics.end(), value) != statistics.end();
      const bool constant = value && value->producer() && is_constant_node(*value->producer());
      const bool sparse = value && value->initializer() && value->initializer()->sparse();
      if (!listed && (constant || sparse)) statistics.push_back(value);
    }
  }
  as_initializers(graph, statistics);
}

}  // namespace onward
