#include "ir/roles.h"

#include <fmt/format.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <unordered_map>

#include "ir/dependence.h"

namespace onward {
namespace {

/// What the standard calls that input of the operator: "W", "R".
std::string formal_input(const Node& node, size_t index) {
  const auto* schema =
      onnx::OpSchemaRegistry::Schema(node.op, static_cast<int>(node.opset), node.domain);
  if (!schema || schema->inputs().empty()) return fmt::format("input {}", index);
  return schema->inputs()[std::min(index, schema->inputs().size() - 1)].GetName();
}

std::string first_reader(const Value& value) {
  for (const Use& use : value.uses()) {
    if (use.input < 0) continue;
    const std::string more =
        value.uses().size() > 1 ? fmt::format(" and {} more", value.uses().size() - 1) : "";
    return fmt::format("read by {} '{}' as {}{}", use.node->op, use.node->label(),
                       formal_input(*use.node, static_cast<size_t>(use.input)), more);
  }
  return "read by no node";
}

/// A Gradient node with what its results flow into.
struct GradientNode {
  const Node* node;
  size_t info;
  std::vector<ValueSet> reach;  // of each x: the values that are x but for operators it passes
};

class RoleFinder {
 public:
  explicit RoleFinder(const Model& model) {
    for (size_t i = 0; i < model.training.size(); ++i) {
      const TrainingInfo& info = model.training[i];
      for (const Binding& binding : info.initialization_bindings) {
        initialized_.emplace(binding.target, i);
      }
      for (const Binding& binding : info.update_bindings) {
        updates_.emplace(binding.target, Update{i, dependencies(binding.source)});
      }
      if (!info.algorithm) continue;
      for (const auto& node : info.algorithm->nodes()) {
        if (node->op != "Gradient") continue;
        const auto* xs = node->get<References>("xs");
        if (!xs) continue;
        gradients_.push_back({node.get(), i, {}});
        for (const Value* x : xs->values) gradients_.back().reach.push_back(gradient_reach(x));
      }
    }
  }

  InitializerRole role_of(const Value& value) const {
    const auto update = updates_.find(&value);
    if (update == updates_.end()) {
      const auto initialized = initialized_.find(&value);
      if (initialized != initialized_.end()) {
        return {&value, Role::state,
                fmt::format("set by the initialization of training info {}", initialized->second)};
      }
      return {&value, Role::constant, first_reader(value)};
    }
    const auto& [info, sources] = update->second;
    for (const GradientNode& gradient : gradients_) {
      if (gradient.info != info || !uses_result_of(*gradient.node, sources)) continue;
      for (const ValueSet& reach : gradient.reach) {
        if (reach.contains(&value)) {
          return {&value, Role::parameter,
                  fmt::format("trained: Gradient '{}' of training info {} is with respect to it",
                              gradient.node->label(), info)};
        }
      }
    }
    return {&value, Role::state,
            fmt::format("updated by training info {}, {}", info, first_reader(value))};
  }

 private:
  struct Update {
    size_t info;
    ValueSet sources;  // what the new value is computed from
  };

  static bool uses_result_of(const Node& node, const ValueSet& sources) {
    return std::any_of(node.outputs().begin(), node.outputs().end(), [&](const auto& output) {
      return output && sources.contains(output.get());
    });
  }

  std::unordered_map<const Value*, size_t> initialized_;
  std::unordered_map<const Value*, Update> updates_;
  std::vector<GradientNode> gradients_;
};

}  // namespace

std::vector<InitializerRole> initializer_roles(const Model& model) {
  const RoleFinder finder(model);
  std::vector<InitializerRole> roles;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole role) {
    if (role.kind == GraphRole::initialization) return;
    for (const Value* value : graph.initializers()) roles.push_back(finder.role_of(*value));
  });
  return roles;
}

}  // namespace onward
