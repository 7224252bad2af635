#include "ops/legalize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <unordered_map>

#include "onward/error.h"
#include "ops/infer_step.h"

namespace onward {
namespace {

/// The longest chain of expansions has four (a loss's backward to a reduction's axes); one that
/// needs this many leads back to itself.
constexpr int kMaxRounds = 32;

/// Messages name so many nodes of an operator, and list so many refusals.
constexpr size_t kMaxNamed = 3, kMaxListed = 10;

/// The operators whose expansions a node comes from.
using Origins = std::unordered_map<const Node*, std::set<std::string>>;

/// One walk over the graphs of a model and their subgraphs.
class Round {
 public:
  Round(Model& model, const Refuses& refuses, Origins& origins)
      : refuses_(refuses), model_(model), names_(model), origins_(origins) {
    for_each_top_level_graph(model_, [&](Graph& graph, GraphRole) { walk(graph); });
  }

  const std::vector<std::string>& expanded() const { return expanded_; }

  /// What is refused and has no expansion, or one that does not suit.
  std::vector<RefusedNodes> refusals() && { return std::move(refusals_); }

 private:
  void walk(Graph& graph) {
    for (auto at = graph.nodes().begin(); at != graph.nodes().end();) {
      Node& node = **at++;
      for (Graph* subgraph : node.subgraphs()) walk(*subgraph);
      const std::string reason = refuses_(node);
      if (reason.empty()) continue;
      // Two operators may be each other's expansion, for targets that take one of them.
      const auto origin = origins_.find(&node);
      const bool leads_back = origin != origins_.end() && origin->second.contains(full_name(node));
      if (has_expansion(node) && !leads_back) {
        expand(graph, node, reason);
      } else {
        note(node, reason);
      }
    }
  }

  void expand(Graph& graph, Node& node, const std::string& reason) {
    const size_t count = graph.nodes().size();
    std::string op = full_name(node);
    try {
      Builder builder(graph, &node, names_, node.label() + "_");
      const std::vector<Expr> results = expand_node(node, builder);
      remember_origin(graph, node, graph.nodes().size() - count);
      replace_node(model_, node, results);
      expanded_.push_back(std::move(op));
    } catch (const Error& error) {
      remove_before(graph, node, graph.nodes().size() - count);
      note(node, fmt::format("{}, and cannot be decomposed: {}", reason, error.what()), true);
    }
  }

  /// Of the `count` nodes before one, which take its place.
  void remember_origin(const Graph& graph, const Node& node, size_t count) {
    std::set<std::string> origin = std::move(origins_[&node]);
    origins_.erase(&node);
    origin.insert(full_name(node));
    auto at = std::ranges::find(graph.nodes(), &node, [](const auto& each) { return each.get(); });
    for (; count > 0; --count) origins_[(--at)->get()] = origin;
  }

  /// What an expansion had added before it failed: the last node first, since nothing reads it.
  static void remove_before(Graph& graph, const Node& node, size_t count) {
    const auto at =
        std::ranges::find(graph.nodes(), &node, [](const auto& each) { return each.get(); });
    for (; count > 0; --count) graph.remove_node(std::prev(at)->get());
  }

  void note(const Node& node, const std::string& reason, bool has_expansion = false) {
    const std::string op = full_name(node);
    auto known = std::ranges::find_if(refusals_, [&](const RefusedNodes& each) {
      return each.op == op && each.reason == reason;
    });
    if (known == refusals_.end()) {
      refusals_.push_back(
          {.op = op, .reason = reason, .nodes = {}, .has_expansion = has_expansion});
      known = refusals_.end() - 1;
    }
    known->nodes.push_back(node.label());
  }

  const Refuses& refuses_;
  Model& model_;
  Names names_;
  Origins& origins_;
  std::vector<std::string> expanded_;
  std::vector<RefusedNodes> refusals_;
};

}  // namespace

std::string full_name(const Node& node) {
  return node.domain.empty() ? node.op : node.domain + "." + node.op;
}

bool has_expansion(std::string_view domain, std::string_view op) {
  const OpDef* definition = find_op_def(domain, op);
  return definition && definition->expansion;
}

bool has_expansion(const Node& node) { return has_expansion(node.domain, node.op); }

std::vector<Expr> expand_node(const Node& node, Builder& builder) {
  if (!has_expansion(node)) throw Bug(fmt::format("{} has no expansion", node.op));
  return find_op_def(node)->expansion(ExpandContext(node, builder));
}

void replace_node(Model& model, Node& node, std::span<const Expr> results) {
  Graph& graph = node.graph();
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    Value* output = node.output(i);
    if (!output) continue;
    Value* result = results[i].value();
    graph.replace_uses(output, result);
    for (TrainingInfo& info : model.training) {
      for (auto* bindings : {&info.initialization_bindings, &info.update_bindings}) {
        for (Binding& binding : *bindings) {
          if (binding.source == output) binding.source = result;
        }
      }
      // An algorithm may give out a value of the graph around it.
      for (size_t k = 0; info.algorithm && k < info.algorithm->outputs().size(); ++k) {
        if (info.algorithm->outputs()[k] == output) info.algorithm->set_output(k, result);
      }
    }
    const bool is_passed_on = std::ranges::find(node.inputs(), result) != node.inputs().end();
    if (is_passed_on) continue;
    const std::string name = output->name();
    result->type = output->type;
    graph.rename(output, "");
    graph.rename(result, name);
  }
  graph.remove_node(&node);
}

std::string to_string(const RefusedNodes& refusal) {
  std::vector<std::string> named;
  for (const std::string& label : refusal.nodes) {
    if (named.size() < kMaxNamed) named.push_back(fmt::format("'{}'", label));
  }
  const size_t others = refusal.nodes.size() - named.size();
  return fmt::format("node{} {}{} ({}): {}", refusal.nodes.size() > 1 ? "s" : "",
                     fmt::join(named, ", "), others ? fmt::format(" and {} more", others) : "",
                     refusal.op, refusal.reason);
}

std::vector<RefusedNodes> try_legalize(Model& model, const Refuses& refuses) {
  bool refused = false;
  for_each_top_level_graph(model, [&](const Graph& graph, GraphRole) {
    for_each_node(graph, [&](const Node& node) { refused |= !refuses(node).empty(); });
  });
  if (!refused) return {};
  Origins origins;
  for (int count = 1;; ++count) {
    infer_step_types(model);
    Round round(model, refuses, origins);
    if (round.expanded().empty()) {
      // An expansion may give on an operand, which the graph of its node may be given.
      Names names(model);
      for_each_top_level_graph(model, [&](Graph& graph, GraphRole) {
        compute_outputs_inside(graph, names, inner_opset());
      });
      return std::move(round).refusals();
    }
    if (count < kMaxRounds) continue;
    throw Bug(fmt::format("expansions do not end: {}", fmt::join(round.expanded(), ", ")));
  }
}

void legalize(Model& model, const LegalizationTarget& target) {
  const std::vector<RefusedNodes> refusals = try_legalize(model, target.refuses);
  if (refusals.empty()) return;
  std::string message = target.failure + ":";
  for (const RefusedNodes& refusal : refusals | std::views::take(kMaxListed)) {
    message += "\n  " + to_string(refusal);
  }
  if (refusals.size() > kMaxListed) {
    message += fmt::format("\n  and {} more", refusals.size() - kMaxListed);
  }
  const bool can_be_helped = std::ranges::any_of(refusals, &RefusedNodes::has_expansion);
  if (can_be_helped && !target.advice.empty()) message += "\n" + target.advice;
  throw Error(message, ErrorCode::unsupported);
}

}  // namespace onward
