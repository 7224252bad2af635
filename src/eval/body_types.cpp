#include "eval/body_types.h"

#include "ir/clone.h"
#include "ir/dependence.h"
#include "ops/infer_step.h"

namespace onward::eval {
namespace {

/// Shapes may follow from the numbers of such a tensor.
bool may_be_a_shape(const RuntimeValue& value) {
  constexpr int64_t kMaxElements = 64;
  return value.is_tensor() && is_integer(value.tensor().dtype()) &&
         value.tensor().size() <= kMaxElements;
}

Value* captured_in(Graph& graph, const Value& outer, const RuntimeValue& value) {
  if (may_be_a_shape(value)) return graph.add_initializer(outer.name(), value.tensor());
  return graph.add_input(outer.name(), value.type());
}

}  // namespace

// A model of the body alone, whose inputs have the types that came.
std::vector<Type> result_types(const ValueContext& c, const Graph& body,
                               const std::vector<Type>& arguments) {
  Model scratch;
  Graph& graph = *scratch.graph;
  ValueMap map;
  for (Value* outer : outer_reads(c.node())) {
    const RuntimeValue* value = c.captured(*outer);
    if (value && !map.contains(outer)) map[outer] = captured_in(graph, *outer, *value);
  }
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    map[body.inputs()[i]] = graph.add_input(body.inputs()[i]->name(), arguments.at(i));
  }
  for (const Value* value : body.initializers()) {
    if (!value->is_input()) {
      map[value] = graph.add_initializer(value->name(), *value->initializer());
    }
  }
  for (const auto& node : body.nodes()) clone_node(*node, graph, map);
  infer_step_types(scratch);
  std::vector<Type> types;
  for (Value* output : body.outputs()) types.push_back(mapped(map, output)->type);
  return types;
}

}  // namespace onward::eval
