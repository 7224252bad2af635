#include "recipe/initializers.h"

#include <algorithm>

#include "ir/sparse.h"
#include "ops/op_def.h"

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
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const InputRole role = input_role(*node, i);
      if (role != InputRole::running_mean && role != InputRole::running_variance) continue;
      Value* value = node->input(i);
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
