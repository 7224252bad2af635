#include <algorithm>

#include "eval/kernel.h"
#include "ops/op_def.h"
#include "passes/passes.h"

namespace onward {
namespace {

/// Larger results stay where they are: computing them again is cheaper than keeping them.
constexpr int64_t kMaxElements = 4096;

std::optional<Tensor> shape_of_known(const Node& node) {
  if (!node.domain.empty() || (node.op != "Shape" && node.op != "Size")) return std::nullopt;
  const auto dims = static_dims(*node.input(0));
  if (!dims) return std::nullopt;
  if (node.op == "Size") return Tensor::scalar<int64_t>(checked_element_count(*dims));
  const auto rank = static_cast<int64_t>(dims->size());
  const auto clamped = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamped(node.int_or("start", 0)), end = clamped(node.int_or("end", rank));
  std::vector<int64_t> part;
  for (int64_t d = start; d < end; ++d) part.push_back((*dims)[static_cast<size_t>(d)]);
  return Tensor::of<int64_t>({static_cast<int64_t>(part.size())}, part);
}

bool is_small(const Value& value) {
  const auto dims = static_dims(value);
  return dims && checked_element_count(*dims) <= kMaxElements;
}

/// The results of a node all of whose inputs are constants; nothing where they are not, or large.
std::optional<std::vector<Tensor>> computed(const PassContext& c, const Node& node) {
  if (auto shape = shape_of_known(node)) return std::vector{std::move(*shape)};
  if (!node.subgraphs().empty() || !eval::find_kernel(node.domain, node.op)) return std::nullopt;
  if (has_traits(node, kRandom)) return std::nullopt;
  std::vector<const Tensor*> inputs;
  for (const Value* input : node.inputs()) {
    inputs.push_back(c.constant(input));
    if (input && !inputs.back()) return std::nullopt;
  }
  const bool constant_node = node.op == "Constant";
  for (const auto& output : node.outputs()) {
    if (output && !constant_node && !is_small(*output)) return std::nullopt;
  }
  return eval::run_node(node, inputs);
}

}  // namespace

void fold_constants(PassContext& c) {
  for (auto at = c.graph.nodes().begin(); at != c.graph.nodes().end();) {
    Node& node = **at++;
    const auto results = computed(c, node);
    if (!results) continue;
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      Value* output = node.output(i);
      if (!output) continue;
      Value* constant =
          c.graph.add_initializer(c.names.fresh(output->name() + "_constant"), results->at(i));
      constant->type = results->at(i).type();
      c.graph.replace_uses(output, constant);
    }
    c.graph.remove_node(&node);
  }
}

}  // namespace onward
