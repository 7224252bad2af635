#include "emit/known.h"

#include <algorithm>

#include "eval/kernel.h"
#include "onward/error.h"
#include "ops/op_def.h"

namespace onward::emit {
namespace {

/// More than shapes and indices need; a weight that was only transposed stays a weight.
constexpr int64_t kMaxElements = 4096;

bool may_be_computed(const Node& node) {
  return node.domain.empty() && eval::find_kernel(node.domain, node.op) &&
         !has_traits(node, kRandom) && node.subgraphs().empty();
}

/// Whether a node compares weights. Those of a model that is no training job may be trained by the
/// framework all the same, and what is larger then must follow.
bool compares_weights(const Node& node, const Tensor& result) {
  return result.dtype() == DType::boolean &&
         std::ranges::any_of(node.inputs(), [](const Value* input) {
           const Tensor* tensor = input ? input->tensor() : nullptr;
           return tensor && is_float(tensor->dtype()) && tensor->size() > 1;
         });
}

bool is_worth_keeping(const Node& node, const Tensor& result) {
  if (node.op == "Constant" || result.size() == 1) return true;
  return !is_float(result.dtype()) && result.size() <= kMaxElements &&
         !compares_weights(node, result);
}

}  // namespace

std::optional<Tensor> known_shape(const Node& node) {
  if (node.op != "Shape" || !node.domain.empty() || !node.input(0)->type.shape) return std::nullopt;
  const Shape& shape = *node.input(0)->type.shape;
  const auto count = static_cast<int64_t>(shape.size());
  const auto limit = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
  };
  const int64_t end = limit(node.int_or("end", count));
  std::vector<int64_t> dims;
  for (int64_t i = limit(node.int_or("start", 0)); i < end; ++i) {
    const auto& size = shape[static_cast<size_t>(i)].value;
    if (!size) return std::nullopt;
    dims.push_back(*size);
  }
  return Tensor::of<int64_t>({std::ssize(dims)}, dims);
}

Known::Known(const Graph& graph, const std::unordered_set<const Value*>& state) {
  add(graph, state);
}

void Known::add(const Graph& graph, const std::unordered_set<const Value*>& state) {
  for (const Value* value : graph.initializers()) {
    if (value->tensor() && !state.contains(value)) tensors_.emplace(value, *value->tensor());
  }
  for (const auto& node : graph.nodes()) {
    for (const Graph* subgraph : node->subgraphs()) add(*subgraph, state);
    if (auto shape = known_shape(*node)) {
      tensors_.emplace(node->output(0), std::move(*shape));
      continue;
    }
    if (!may_be_computed(*node)) continue;
    std::vector<const Tensor*> inputs;
    for (const Value* input : node->inputs()) inputs.push_back(find(input));
    bool all = true;
    int64_t elements = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      all = all && (inputs[i] || !node->input(i));
      if (inputs[i]) elements += inputs[i]->size();
    }
    if (!all || elements > kMaxElements) continue;
    std::vector<Tensor> results;
    try {
      results = eval::run_node(*node, inputs);
    } catch (const Error&) {
      continue;  // what is wrong with it shows when the source runs
    }
    bool keep = true;
    for (const Tensor& result : results) keep = keep && is_worth_keeping(*node, result);
    if (!keep) continue;
    for (size_t i = 0; i < results.size() && i < node->outputs().size(); ++i) {
      if (node->output(i)) tensors_.emplace(node->output(i), results[i]);
    }
  }
}

const Tensor* Known::find(const Value* value) const {
  const auto found = tensors_.find(value);
  return found == tensors_.end() ? nullptr : &found->second;
}

bool Known::is_literal(const Value* value) const {
  const Tensor* tensor = find(value);
  if (!tensor || tensor->size() != 1 || tensor->dtype() == DType::string) return false;
  return tensor->dims().empty() || !value->initializer();
}

std::optional<std::vector<int64_t>> Known::integers(const Value* value) const {
  const Tensor* tensor = find(value);
  if (!tensor || (!is_integer(tensor->dtype()) && tensor->dtype() != DType::boolean)) return {};
  return tensor->integers();
}

}  // namespace onward::emit
