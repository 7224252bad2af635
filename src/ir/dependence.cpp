#include "ir/dependence.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace onward {
namespace {

bool lies_in(const Graph* graph, const Graph* around) {
  for (; graph; graph = graph->inside()) {
    if (graph == around) return true;
  }
  return false;
}

void add_outer_reads(const Graph& graph, const Graph& outermost, std::vector<Value*>& reads) {
  const auto add = [&](Value* value) {
    if (value && !lies_in(&value->graph(), &outermost)) reads.push_back(value);
  };
  for (const auto& node : graph.nodes()) {
    for (Value* input : node->inputs()) add(input);
    for (const Graph* subgraph : node->subgraphs()) add_outer_reads(*subgraph, outermost, reads);
  }
  for (Value* output : graph.outputs()) add(output);
}

/// Walks from a value to what it is computed from; `passes(node, input)` says which inputs to
/// follow.
template <typename Passes>
ValueSet walk_back(const Value* start, Passes passes) {
  ValueSet reached = {start};
  std::vector<const Value*> open = {start};
  while (!open.empty()) {
    const Node* node = open.back()->producer();
    open.pop_back();
    if (!node) continue;
    const auto reads = all_reads(*node);
    for (size_t i = 0; i < reads.size(); ++i) {
      if (passes(*node, i) && reached.insert(reads[i]).second) open.push_back(reads[i]);
    }
  }
  return reached;
}

/// `target` and everything computed from it in `graph` and the graphs around it.
ValueSet dependents(const Value* target, const Graph& graph) {
  std::vector<const Graph*> chain;
  for (const Graph* each = &graph; each; each = each->inside()) chain.push_back(each);
  ValueSet found = {target};
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    found = with_results(**each, std::move(found));
  }
  return found;
}

/// Inputs that the standard takes for settings, though results follow them smoothly; ops/ has their
/// gradients, or refuses.
constexpr std::pair<std::string_view, size_t> kNoMereSettings[] = {
    {"AffineGrid", 0},
    {"BitCast", 0},
    {"Clip", 1},
    {"Clip", 2},
    {"DFT", 0},
    {"GRU", 5},
    {"GridSample", 1},
    {"LSTM", 5},
    {"LSTM", 6},
    {"NegativeLogLikelihoodLoss", 2},
    {"Mod", 1},
    {"OneHot", 2},
    {"Pad", 2},
    {"RNN", 5},
    {"Resize", 1},
    {"RoiAlign", 1},
    {"STFT", 0},
    {"STFT", 2},
    {"SoftmaxCrossEntropyLoss", 2},
    {"Unique", 0},
};

}  // namespace

std::vector<Value*> outer_reads(const Node& node) {
  std::vector<Value*> reads;
  for (const Graph* subgraph : node.subgraphs()) add_outer_reads(*subgraph, *subgraph, reads);
  return reads;
}

std::vector<Value*> all_reads(const Node& node) {
  std::vector<Value*> reads;
  for (Value* input : node.inputs()) {
    if (input) reads.push_back(input);
  }
  for (Value* value : outer_reads(node)) reads.push_back(value);
  for (const Attribute& attribute : node.attributes()) {
    if (const auto* references = std::get_if<References>(&attribute.value)) {
      reads.insert(reads.end(), references->values.begin(), references->values.end());
    }
  }
  return reads;
}

ValueSet with_results(const Graph& graph, ValueSet values) {
  for (const auto& node : graph.nodes()) {  // in order: what a node reads comes before it
    const auto reads = all_reads(*node);
    if (std::ranges::none_of(reads, [&](const Value* v) { return values.contains(v); })) continue;
    for (const auto& output : node->outputs()) {
      if (output) values.insert(output.get());
    }
  }
  return values;
}

bool stops_gradient(const Node& node, size_t input) {
  if (node.domain.empty() &&
      std::ranges::find(kNoMereSettings, std::pair<std::string_view, size_t>(node.op, input)) !=
          std::end(kNoMereSettings)) {
    return false;
  }
  const auto* schema =
      onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(node.opset), node.domain);
  if (!schema || schema->inputs().empty()) return false;
  const size_t formal = std::min(input, schema->inputs().size() - 1);  // the last may be variadic
  return schema->inputs()[formal].GetDifferentiationCategory() ==
         onnx::OpSchema::DifferentiationCategory::NonDifferentiable;
}

ValueSet dependencies(const Value* value) {
  return walk_back(value, [](const Node&, size_t) { return true; });
}

ValueSet gradient_reach(const Value* value) {
  return walk_back(value, [](const Node& node, size_t read) {
    // Reads beyond the inputs are those of subgraphs and references: no tag speaks of them.
    size_t present = 0;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      if (node.inputs()[i] && present++ == read) return !stops_gradient(node, i);
    }
    return true;
  });
}

std::vector<const Node*> gradient_stops(const Value* value, const Value* target) {
  const ValueSet reach = gradient_reach(value);
  if (reach.contains(target)) return {};
  const ValueSet of_target = dependents(target, value->graph());
  std::vector<const Node*> stops;
  std::unordered_set<const Node*> seen;
  for (const Value* reached : reach) {
    const Node* node = reached->producer();
    if (!node || !seen.insert(node).second) continue;
    const auto reads = all_reads(*node);
    const bool stops_here = std::any_of(reads.begin(), reads.end(), [&](const Value* read) {
      return !reach.contains(read) && of_target.contains(read);
    });
    if (stops_here) stops.push_back(node);
  }
  return stops;
}

}  // namespace onward
