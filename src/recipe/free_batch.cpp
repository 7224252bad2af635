#include "recipe/free_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/batch_axes.h"
#include "recipe/new_head.h"

namespace onward {
namespace {

std::vector<Value*> fed_inputs(const Graph& graph) {
  std::vector<Value*> inputs;
  for (Value* input : graph.inputs()) {
    if (!input->initializer()) inputs.push_back(input);
  }
  return inputs;
}

/// The first dimension of all inputs, where it is one number.
std::optional<int64_t> fixed_batch(const std::vector<Value*>& inputs) {
  std::optional<int64_t> batch;
  for (const Value* input : inputs) {
    const Type& type = input->type;
    if (!type.is_tensor() || !type.shape || type.shape->empty()) return std::nullopt;
    const auto size = type.shape->front().value;
    if (!size || *size < 1 || (batch && *batch != *size)) return std::nullopt;
    batch = size;
  }
  return batch;
}

/// "batch", or another name where a dimension is called so.
std::string free_symbol(const Graph& graph) {
  std::unordered_set<std::string> taken;
  const auto add = [&](const Value& value) {
    if (!value.type.shape) return;
    for (const Dim& dim : *value.type.shape) taken.insert(dim.symbol);
  };
  for (const Value* input : graph.inputs()) add(*input);
  for_each_node(graph, [&](const Node& node) {
    for (const auto& output : node.outputs()) {
      if (output) add(*output);
    }
  });
  std::string symbol = "batch";
  for (int i = 2; taken.contains(symbol); ++i) symbol = fmt::format("batch_{}", i);
  return symbol;
}

void apply(Model& model, const BatchAxes& axes) {
  Graph& graph = *model.graph;
  const std::string symbol = free_symbol(graph);
  const auto open = [&](Value& value) {
    const auto examples = axes.of(&value);
    if (!examples || !value.type.shape) return;
    Dim& dim = value.type.shape->at(static_cast<size_t>(examples->axis));
    dim = examples->each == 1 ? Dim::named(symbol) : Dim{};
  };
  for (Value* input : fed_inputs(graph)) open(*input);
  for (const auto& node : graph.nodes()) {
    for (const auto& output : node->outputs()) {
      if (output) open(*output);
    }
  }
  Names names(model);
  for (const SizesEdit& edit : axes.edits()) {
    const Tensor sizes = Tensor::of<int64_t>({std::ssize(edit.sizes)}, edit.sizes);
    Value* before = edit.node->input(edit.input);
    edit.node->set_input(edit.input, graph.add_initializer(names.fresh(before->name()), sizes));
    remove_unread(graph, before);
  }
  model.source.reset();  // the old file declares the old shapes
}

}  // namespace

std::string free_batch(Model& model) {
  const std::vector<Value*> inputs = fed_inputs(*model.graph);
  const auto batch = fixed_batch(inputs);
  if (!batch) return {};
  BatchAxes axes(*batch);
  for (const Value* input : inputs) axes.set(input, {});
  try {
    axes.follow(*model.graph);
  } catch (const Error& error) {
    return fmt::format(
        "the batch size stays fixed at {}, as the model was exported: {}; export it with an open "
        "batch to train with another --batch-size",
        *batch, error.what());
  }
  apply(model, axes);
  return fmt::format(
      "the batch size was fixed at {} and is open now, since every node treats examples apart{}",
      *batch,
      axes.edits().empty()
          ? ""
          : fmt::format(" ({} of its shapes had it as a number)", axes.edits().size()));
}

}  // namespace onward
