#include "emit/loss.h"

#include <fmt/format.h>

#include "onward/error.h"

namespace onward::emit {
namespace {

/// More would be data, which has no place in a source.
constexpr int64_t kMaxWrittenOut = 64;

std::string nested_list(const Tensor& tensor, size_t axis, int64_t& next) {
  if (axis == tensor.dims().size()) return python_element(tensor, next++);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < tensor.dims()[axis]; ++i) {
    parts.push_back(nested_list(tensor, axis + 1, next));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

/// A constant of the loss, which is no tensor of the model: written out.
std::string constant_text(const Dialect& dialect, const Tensor& tensor) {
  if (tensor.size() > kMaxWrittenOut) {
    throw Error(fmt::format("a constant of {} elements can't be written out", tensor.size()));
  }
  int64_t next = 0;
  return fmt::format(fmt::runtime(dialect.constant), nested_list(tensor, 0, next),
                     dtype_text(dialect, tensor.dtype()));
}

}  // namespace

LossFunction write_loss(const Job& job, SourceContext& context, std::string_view label_cast) {
  const Graph& graph = *job.step_graph.graph;
  std::unordered_set<const Value*> state;
  for (const Binding& binding : job.step_graph.training[0].update_bindings) {
    state.insert(binding.target);
  }
  const Known known(graph, state);
  SourceContext own;
  own.dialect = context.dialect;
  own.known = &known;
  own.hold = [&](const Value* value) {
    const Tensor* tensor = known.find(value);
    if (!tensor) throw Error(fmt::format("the loss reads the state '{}'", value->name()));
    own.held[value] = {.value = value, .expression = constant_text(*own.dialect, *tensor)};
  };
  Body body(own);
  LossFunction function;
  for (const Value* prediction : job.predictions_in_step) {
    function.predictions.push_back(body.add_argument(prediction));
  }
  for (const Value* label : job.labels) {
    const std::string& name = function.labels.emplace_back(body.add_argument(label));
    if (label_cast.empty() || is_float(label->type.dtype)) continue;
    const std::string dtype = dtype_text(*own.dialect, label->type.dtype);
    body.add_line(fmt::format("{} = {}", name, fmt::format(fmt::runtime(label_cast), name, dtype)));
  }
  std::vector<std::string> refusals;
  const Value* results[] = {job.loss_value};
  // Only the nodes between what is read and the loss.
  for (const Node* node : needed_nodes(graph, results, known, body)) {
    try {
      write_call(*node, body);
    } catch (const Error& error) {
      refusals.push_back(fmt::format("{} '{}': {}", node->op, node->label(), error.what()));
      for (const auto& output : node->outputs()) {
        if (output && !body.has(output.get())) body.declare(output.get(), Form::plain);
      }
    }
  }
  if (!refusals.empty()) {
    throw Error(fmt::format("this loss cannot be exported exactly to {}:\n  {}", own.dialect->name,
                            fmt::join(refusals, "\n  ")));
  }
  function.result = body.tensor(job.loss_value);
  function.lines = body.lines();
  context.helpers.merge(own.helpers);
  context.modules.merge(own.modules);
  return function;
}

}  // namespace onward::emit
