#include "grad/differentiate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ir/clone.h"
#include "ir/dependence.h"
#include "onward/error.h"
#include "ops/op_def.h"

namespace onward {
namespace {

bool is_gradient(const Node& node) {
  return node.op == "Gradient" && node.domain == kTrainingDomain;
}

template <typename Values>
bool any_in(const Values& values, const ValueSet& set) {
  return std::any_of(values.begin(), values.end(),
                     [&](const auto& value) { return value && set.contains(&*value); });
}

/// Puts the backward nodes in the place of one Gradient node.
class Differentiation {
 public:
  Differentiation(Graph& graph, Node& gradient, Names& names)
      : graph_(graph), gradient_(gradient), names_(names), builder_(graph, &gradient, names, "d_") {
    const auto* xs = gradient.get<References>("xs");
    const auto* zs = gradient.get<References>("zs");
    const auto* y = gradient.get<References>("y");
    if (!xs || !y) throw Error("it names no xs or no y");
    xs_ = xs->values;
    y_ = y->values.at(0);
    std::vector<Value*> named = xs_;
    if (zs) named.insert(named.end(), zs->values.begin(), zs->values.end());
    leaves_.insert(named.begin(), named.end());
    evaluate_at_inputs(named);
  }

  /// Gives each output of the Gradient node with the value that takes its place.
  std::vector<std::pair<Value*, Value*>> run() {
    std::vector<Node*> path = nodes_on_the_way();
    if (expand_without_rule(path)) path = nodes_on_the_way();
    refuse_operators_without_gradient(path);
    add(y_, ones_like(builder_.expr(y_)));
    for (auto node = path.rbegin(); node != path.rend(); ++node) step_back(**node);
    return results();
  }

 private:
  /// The standard lets a gradient be taken at other values than those that xs and zs name: then the
  /// forward nodes run a second time, with those values put in.
  void evaluate_at_inputs(const std::vector<Value*>& named) {
    ValueMap substitutes;
    for (size_t i = 0; i < std::min(named.size(), gradient_.inputs().size()); ++i) {
      Value* given = gradient_.input(i);
      if (given && given != named[i]) substitutes[named[i]] = given;
    }
    if (substitutes.empty()) return;
    ValueMap map = substitutes;
    for (Node* node : nodes_that_depend_on(named)) {
      Node* copy = clone_node(*node, graph_, map, &gradient_);
      for (const auto& output : copy->outputs()) {
        if (output) graph_.rename(output.get(), names_.fresh(output->name()));
      }
    }
    y_ = mapped(map, y_);
    for (Value*& x : xs_) x = mapped(substitutes, x);
    for (const auto& [value, substitute] : substitutes) {
      leaves_.erase(value);
      leaves_.insert(substitute);
    }
  }

  /// Nodes before the Gradient that are computed from these values, in order. The walk ends at xs
  /// and zs: they are independent, whatever they are computed from.
  std::vector<Node*> nodes_that_depend_on(const std::vector<Value*>& sources) {
    ValueSet depends(sources.begin(), sources.end());
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) {
      if (node.get() == &gradient_) break;
      if (!any_in(all_reads(*node), depends)) continue;
      nodes.push_back(node.get());
      for (const auto& output : node->outputs()) {
        if (output && !leaves_.contains(output.get())) depends.insert(output.get());
      }
    }
    depends_on_xs_ = std::move(depends);
    return nodes;
  }

  std::vector<Node*> nodes_on_the_way() {
    const std::vector<Node*> forward = nodes_that_depend_on(xs_);
    ValueSet leads_to_y = {y_};
    std::vector<Node*> path;
    for (auto node = forward.rbegin(); node != forward.rend(); ++node) {
      const bool leads = std::any_of(
          (*node)->outputs().begin(), (*node)->outputs().end(), [&](const auto& output) {
            return output && leads_to_y.contains(output.get()) && !leaves_.contains(output.get());
          });
      if (!leads) continue;
      path.push_back(*node);
      for (const Value* read : all_reads(**node)) leads_to_y.insert(read);
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  /// Internal operators without a rule are differentiated as what they stand for: true where there
  /// were any. They come from an earlier Gradient, whose results are nodes of their own: neither a
  /// binding nor this Gradient names what they give.
  bool expand_without_rule(const std::vector<Node*>& path) {
    bool any = false;
    for (Node* node : path) {
      const OpDef* definition = find_op_def(*node);
      if (!definition || definition->vjp || definition->no_gradient || !definition->expansion ||
          node->domain != kInternalDomain) {
        continue;
      }
      Builder before(graph_, node, names_, "d_");
      const std::vector<Expr> results = definition->expansion(ExpandContext(*node, before));
      for (size_t i = 0; i < node->outputs().size(); ++i) {
        if (node->output(i)) graph_.replace_uses(node->output(i), results.at(i).value());
      }
      graph_.remove_node(node);
      any = true;
    }
    return any;
  }

  static void refuse_operators_without_gradient(const std::vector<Node*>& path) {
    std::set<std::string> missing;
    for (const Node* node : path) {
      const OpDef* definition = find_op_def(*node);
      if (definition && (definition->vjp || definition->no_gradient)) continue;
      missing.insert(fmt::format("{} (node '{}')", node->op, node->label()));
    }
    if (!missing.empty()) {
      throw Error(fmt::format("no gradient is known for {}", fmt::join(missing, ", ")));
    }
  }

  void step_back(Node& node) {
    std::vector<Value*> output_gradients(node.outputs().size(), nullptr);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (!node.output(i) || leaves_.contains(node.output(i))) continue;
      const auto found = gradients_.find(node.output(i));
      if (found != gradients_.end()) output_gradients[i] = found->second;
    }
    const bool any = std::any_of(output_gradients.begin(), output_gradients.end(),
                                 [](const Value* gradient) { return gradient; });
    const OpDef& definition = *find_op_def(node);
    if (!any || !definition.vjp) return;
    const Grads grads = apply_rule(definition, node, std::move(output_gradients));
    for (size_t i = 0; i < std::min(grads.size(), node.inputs().size()); ++i) {
      Value* input = node.input(i);
      if (!input || !grads[i] || !depends_on_xs_.contains(input)) continue;
      add(input,
          definition.broadcasts ? sum_to(*grads[i], shape_of(builder_.expr(input))) : *grads[i]);
    }
  }

  Grads apply_rule(const OpDef& definition, Node& node, std::vector<Value*> gradients) {
    try {
      return definition.vjp(VjpContext(node, builder_, names_, std::move(gradients)));
    } catch (Error& error) {
      error.add_context(fmt::format("in the gradient of node '{}' ({})", node.label(), node.op));
      throw;
    }
  }

  /// Gradients that reach a value by several ways add up.
  void add(const Value* value, Expr gradient) {
    const auto [found, added] = gradients_.emplace(value, gradient.value());
    if (!added) found->second = (builder_.expr(found->second) + gradient).value();
  }

  std::vector<std::pair<Value*, Value*>> results() {
    std::vector<std::pair<Value*, Value*>> replaced;
    std::vector<std::string> without;
    for (size_t i = 0; i < gradient_.outputs().size(); ++i) {
      Value* output = gradient_.output(i);
      if (!output) continue;
      const auto found = gradients_.find(xs_.at(i));
      if (found == gradients_.end()) {
        without.push_back(fmt::format("'{}'", xs_[i]->name()));
        continue;
      }
      // A node of its own, so that the gradient can have the name that the file gives it.
      const Expr result = builder_.add("Identity", {found->second}, found->second->type.dtype);
      result.value()->type = output->type;
      replaced.emplace_back(output, result.value());
    }
    if (!without.empty()) {
      throw Error(
          fmt::format("no gradient of '{}' reaches {}", y_->name(), fmt::join(without, ", ")));
    }
    return replaced;
  }

  Graph& graph_;
  Node& gradient_;
  Names& names_;
  Builder builder_;
  std::vector<Value*> xs_;
  Value* y_ = nullptr;
  ValueSet leaves_;  // xs and zs
  ValueSet depends_on_xs_;
  std::unordered_map<const Value*, Value*> gradients_;
};

void replace(Model& step, Node& gradient, Names& names) {
  Graph& graph = gradient.graph();
  for (const auto& [output, result] : Differentiation(graph, gradient, names).run()) {
    const std::string name = output->name();
    graph.replace_uses(output, result);
    for (TrainingInfo& info : step.training) {
      for (Binding& binding : info.update_bindings) {
        if (binding.source == output) binding.source = result;
      }
    }
    graph.rename(output, "");
    graph.rename(result, name);
  }
  graph.remove_node(&gradient);
}

}  // namespace

void replace_gradients(Model& step) {
  Names names(step);
  // In file order: a later Gradient may differentiate what an earlier one computed.
  std::vector<Node*> gradients;
  for (const auto& node : step.graph->nodes()) {
    if (is_gradient(*node)) gradients.push_back(node.get());
  }
  for (Node* gradient : gradients) {
    const std::string label = gradient->label();
    try {
      replace(step, *gradient, names);
    } catch (Error& error) {
      error.add_context(fmt::format("in node '{}' (Gradient)", label));
      throw;
    }
  }
}

}  // namespace onward
