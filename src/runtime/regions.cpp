#include "runtime/regions.h"

#include <algorithm>
#include <unordered_map>

#include "ir/clone.h"
#include "ir/dependence.h"
#include "passes/passes.h"

namespace onward {
namespace {

enum class Region : uint8_t { planned, dynamic, rest };

/// Tensors whose elements plans have no kernels for, whatever their shape.
bool is_beyond_plans(const Value& value) {
  const Type& type = value.type;
  return !type.is_tensor() || type.dtype == DType::string || bits(type.dtype) < 8;
}

bool can_be_planned(const Value& value) { return !is_beyond_plans(value) && static_dims(value); }

template <typename Check>
bool any_value(const Node& node, Check check) {
  return std::ranges::any_of(node.inputs(), [&](const Value* v) { return v && check(*v); }) ||
         std::ranges::any_of(node.outputs(), [&](const auto& v) { return v && check(*v); });
}

bool can_be_planned(const Node& node) {
  return node.subgraphs().empty() &&
         !any_value(node, [](const Value& value) { return !can_be_planned(value); });
}

/// One of the graphs while it is built: what its nodes read of others becomes an input.
class Part {
 public:
  explicit Part(const Model& step) {
    model_.ir_version = step.ir_version;
    model_.opsets = step.opsets;
    model_.graph->name = step.graph->name;
  }

  void add(const Node& node) {
    for (Value* read : all_reads(node)) take(read);
    clone_node(node, *model_.graph, map_);
  }

  /// The value here; what another part computes is an input.
  Value* take(Value* value) {
    const auto known = map_.find(value);
    if (known != map_.end()) return known->second;
    Graph& graph = *model_.graph;
    Value* copy = nullptr;
    if (value->initializer() && !value->is_input()) {
      copy = graph.add_initializer(value->name(), *value->initializer());
    } else {
      copy = graph.add_input(value->name(), value->type);
      if (value->initializer()) graph.set_initializer(copy, *value->initializer());
    }
    copy->type = value->type;
    return map_[value] = copy;
  }

  bool is_empty() const { return model_.graph->nodes().empty(); }
  void give(Value* value) { model_.graph->add_output(take(value)); }
  Model finish() { return std::move(model_); }

 private:
  Model model_;
  ValueMap map_;
};

class Cut {
 public:
  explicit Cut(const Model& step) : step_(step), graph_(*step.graph) {
    crossing_.insert(graph_.outputs().begin(), graph_.outputs().end());
    for (const auto& node : graph_.nodes()) {
      const Region region = region_[node.get()] = region_of(*node);
      for (const Value* read : all_reads(*node)) {
        if (read->producer() && region_.at(read->producer()) < region) crossing_.insert(read);
      }
    }
  }

  std::optional<Regions> run() {
    if (std::ranges::any_of(graph_.outputs(), [](const Value* v) { return is_beyond_plans(*v); })) {
      return std::nullopt;
    }
    Part planned(step_), dynamic(step_), rest(step_);
    Part* const parts[] = {&planned, &dynamic, &rest};
    for (const auto& node : graph_.nodes()) {
      parts[static_cast<size_t>(region_.at(node.get()))]->add(*node);
    }
    for (const auto& node : graph_.nodes()) {
      const Region region = region_.at(node.get());
      for (const auto& output : node->outputs()) {
        if (!output || region == Region::rest || !crossing_.contains(output.get())) continue;
        if (is_beyond_plans(*output) && region == Region::dynamic) return std::nullopt;
        parts[static_cast<size_t>(region)]->give(output.get());
      }
    }
    for (Value* output : graph_.outputs()) rest.give(output);
    if (dynamic.is_empty()) return std::nullopt;  // nothing would be known then that is not now
    return Regions{planned.finish(), dynamic.finish(), rest.finish()};
  }

 private:
  Region region_of(const Node& node) const {
    Region latest = Region::planned;
    for (const Value* read : all_reads(node)) {
      const Node* producer = read ? read->producer() : nullptr;
      const auto found = producer ? region_.find(producer) : region_.end();
      if (found != region_.end()) latest = std::max(latest, found->second);
    }
    if (latest == Region::planned) {
      return can_be_planned(node) ? Region::planned : Region::dynamic;
    }
    // What no plan ever takes may as well run now, so that it does not cross.
    const bool stays = latest == Region::dynamic && any_value(node, is_beyond_plans);
    return stays ? Region::dynamic : Region::rest;
  }

  const Model& step_;
  const Graph& graph_;
  std::unordered_map<const Node*, Region> region_;
  ValueSet crossing_;  // what a later region, or whoever runs the step, wants
};

}  // namespace

bool can_be_planned(const Graph& graph) {
  // An output may be an input or a constant that no node reads.
  return std::ranges::all_of(graph.outputs(), [](const Value* v) { return can_be_planned(*v); }) &&
         std::ranges::all_of(graph.nodes(), [](const auto& node) { return can_be_planned(*node); });
}

std::optional<Regions> cut_into_regions(const Model& step) { return Cut(step).run(); }

}  // namespace onward
