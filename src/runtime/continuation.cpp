#include "runtime/continuation.h"

#include "eval/interpreter.h"
#include "runtime/program.h"
#include "runtime/reorder.h"

namespace onward {
namespace {

Tensor copy_of(const Tensor& tensor) {
  return Tensor::from_bytes(
      tensor.dtype(), tensor.dims(),
      std::make_shared<std::string>(reinterpret_cast<const char*>(tensor.bytes().data()),
                                    tensor.bytes().size()));
}

}  // namespace

Continuation::Continuation(Model dynamic_nodes, std::unique_ptr<Program> rest, InputLayouts given)
    : dynamic(std::move(dynamic_nodes)), program(std::move(rest)), layouts(std::move(given)) {}

Continuation::~Continuation() = default;

void Continuation::run_dynamic(const State& state, const eval::RandomKey& random) {
  eval::Environment environment;
  for (const Value* input : dynamic.graph->inputs()) {
    const auto given = inputs.find(input->name());
    if (given == inputs.end()) continue;
    environment.emplace(input, to_plain(given->second, layout_of(layouts, input->name())));
  }
  for (const Value* initializer : dynamic.graph->initializers()) {
    if (!state.has(initializer->name())) continue;
    environment.emplace(initializer, state.view(initializer->name()));
  }
  eval::run_graph(*dynamic.graph, environment, {.random = random, .subgraphs = &subgraphs});
  for (const Value* output : dynamic.graph->outputs()) {
    const Tensor& tensor = environment.at(output).tensor();
    // What shares the state's memory would change with it, while others still read it.
    inputs.insert_or_assign(output->name(), state.owns(tensor) ? copy_of(tensor) : tensor);
  }
}

Tensor to_plain(const Tensor& tensor, Layout layout) {
  if (layout == Layout::plain) return tensor;
  auto bytes = std::make_shared<std::string>(tensor.bytes().size(), '\0');
  make_reorder(tensor.dims(), tensor.dtype(), Layout::plain)
      .run(tensor.bytes().data(), reinterpret_cast<std::byte*>(bytes->data()));
  return Tensor::from_bytes(tensor.dtype(), tensor.dims(), std::move(bytes));
}

}  // namespace onward
