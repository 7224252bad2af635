#include "ops/legalize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "onward/error.h"
#include "ops/infer_step.h"

namespace onward {
namespace {

/// One walk over a graph and its subgraphs.
class Round {
 public:
  Round(Model& model, const LegalizationTarget& target)
      : model_(model), target_(target), names_(model) {}

  /// False where nothing was left to expand.
  bool run() {
    walk(*model_.graph);
    return expanded_;
  }

  /// What the target refuses and has no expansion, or one that does not suit.
  const std::vector<std::string>& refusals() const { return refusals_; }

 private:
  void walk(Graph& graph) {
    for (auto at = graph.nodes().begin(); at != graph.nodes().end();) {
      Node& node = **at++;
      for (Graph* subgraph : node.subgraphs()) walk(*subgraph);
      const std::string refusal = target_.refuses(node);
      if (refusal.empty()) continue;
      const std::string which = fmt::format("{}{}{} (node '{}')", node.domain,
                                            node.domain.empty() ? "" : ".", node.op, node.label());
      if (!has_expansion(node)) {
        refusals_.push_back(fmt::format("{}: {}", which, refusal));
        continue;
      }
      try {
        Builder builder(graph, &node, names_, node.label() + "_");
        replace_node(model_, node, expand_node(node, builder));
        expanded_ = true;
      } catch (const Error& error) {
        refusals_.push_back(fmt::format("{}: {}, and {}{}", which, refusal, error.what(),
                                        target_.advice.empty() ? "" : "; " + target_.advice));
      }
    }
  }

  Model& model_;
  const LegalizationTarget& target_;
  Names names_;
  bool expanded_ = false;
  std::vector<std::string> refusals_;
};

}  // namespace

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
      for (Binding& binding : info.update_bindings) {
        if (binding.source == output) binding.source = result;
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

void legalize(Model& model, const LegalizationTarget& target) {
  bool refused = false;
  for_each_node(*model.graph, [&](const Node& node) { refused |= !target.refuses(node).empty(); });
  if (!refused) return;
  while (true) {
    infer_step_types(model);
    Round round(model, target);
    if (round.run()) continue;
    if (round.refusals().empty()) return;
    throw Error(fmt::format("{} can't take {}", target.name, fmt::join(round.refusals(), ", ")));
  }
}

}  // namespace onward
