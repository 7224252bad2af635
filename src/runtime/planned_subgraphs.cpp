#include "runtime/planned_subgraphs.h"

#include <fmt/format.h>

#include <algorithm>

#include "eval/interpreter.h"
#include "infer/infer.h"
#include "ir/clone.h"
#include "ir/dependence.h"
#include "runtime/program.h"

namespace onward {
namespace {

/// What a graph reads, or gives on, of those around it.
std::vector<Value*> captures_of(const Graph& graph) {
  ValueSet own(graph.inputs().begin(), graph.inputs().end());
  own.insert(graph.initializers().begin(), graph.initializers().end());
  for (const auto& node : graph.nodes()) {
    for (const auto& output : node->outputs()) own.insert(output.get());
  }
  std::vector<Value*> captures;
  const auto take = [&](Value* value) {
    if (value && own.insert(value).second) captures.push_back(value);
  };
  for (const auto& node : graph.nodes()) std::ranges::for_each(all_reads(*node), take);
  std::ranges::for_each(graph.outputs(), take);
  return captures;
}

bool gives_tensors(const Graph& graph) {
  return std::ranges::all_of(graph.outputs(), [](const Value* v) { return v->type.is_tensor(); });
}

/// The graph as a model of its own, to which what it captures is given like its inputs.
Model model_of(const Graph& graph, std::span<Value* const> captures) {
  Model model;
  model.graph->name = graph.name;
  ValueMap map;
  for (Value* capture : captures) {
    map[capture] = model.graph->add_input(capture->name(), capture->type);
  }
  clone_into(graph, *model.graph, map);
  // A plan is made for what comes, not for what the file declares.
  for (Value* input : model.graph->inputs()) input->type = without_shapes(input->type);
  for (Value* output : graph.outputs()) model.graph->add_output(mapped(map, output));
  return model;
}

}  // namespace

struct PlannedSubgraphs::Body {
  explicit Body(const Graph& graph)
      : captures(captures_of(graph)), program(model_of(graph, captures)), state(Model()) {}

  std::vector<Value*> captures;
  Program program;
  State state;  // none: whatever a body reads is given to it
};

PlannedSubgraphs::PlannedSubgraphs() = default;
PlannedSubgraphs::~PlannedSubgraphs() = default;
PlannedSubgraphs::PlannedSubgraphs(PlannedSubgraphs&&) noexcept = default;

std::string PlannedSubgraphs::explain() const {
  std::string text;
  for (const auto& [graph, body] : bodies_) {
    text += fmt::format("the graph '{}' inside of a node, each time: {}", graph->name,
                        body->program.explain());
  }
  return text;
}

TimeSpent PlannedSubgraphs::times() const {
  TimeSpent sum;
  for (const auto& [graph, body] : bodies_) {
    const TimeSpent& times = body->program.times();
    sum.add(times.all, times.reference);
  }
  return sum;
}

std::vector<eval::RuntimeValue> PlannedSubgraphs::run(const Call& call) const {
  const auto is_tensor = [](const eval::RuntimeValue& value) { return value.is_tensor(); };
  if (!gives_tensors(call.graph) || !std::ranges::all_of(call.arguments, is_tensor)) {
    return eval::interpret_subgraph(call, *this);
  }
  auto& body = bodies_[&call.graph];
  if (!body) body = std::make_unique<Body>(call.graph);
  TensorMap inputs;
  for (const Value* capture : body->captures) {
    const eval::RuntimeValue* value = call.captured(*capture);
    if (!value || !value->is_tensor()) return eval::interpret_subgraph(call, *this);
    inputs.emplace(capture->name(), value->tensor());
  }
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    inputs.insert_or_assign(call.graph.inputs()[i]->name(), call.arguments[i].tensor());
  }
  const TensorMap results = body->program.run(inputs, body->state, call.random);
  std::vector<eval::RuntimeValue> outputs;
  for (const Value* output : call.graph.outputs()) {
    outputs.push_back(results.at(output->name()));
  }
  return outputs;
}

}  // namespace onward
