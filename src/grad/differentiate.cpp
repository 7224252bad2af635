#include "grad/differentiate.h"

#include <fmt/format.h>

#include <algorithm>

#include "grad/backward.h"
#include "ir/clone.h"
#include "onward/error.h"

namespace onward {
namespace {

bool is_gradient(const Node& node) {
  return node.op == "Gradient" && node.domain == kTrainingDomain;
}

/// Puts the backward nodes in the place of one Gradient node.
class Differentiation {
 public:
  Differentiation(Graph& graph, Node& gradient, Names& names)
      : graph_(graph), gradient_(gradient), builder_(graph, &gradient, names, "d_") {
    const auto* xs = gradient.get<References>("xs");
    const auto* zs = gradient.get<References>("zs");
    const auto* y = gradient.get<References>("y");
    if (!xs || !y) throw Error("xs or y is missing");
    request_.xs = xs->values;
    request_.ys = {y->values.at(0)};
    if (zs) request_.fixed = zs->values;
    evaluate_at_inputs();
  }

  /// Gives each output of the Gradient node with the value that takes its place.
  std::vector<std::pair<Value*, Value*>> run() {
    const Expr y = builder_.expr(request_.ys[0]);
    request_.dys = {ones_like(y).value()};
    const std::vector<Value*> gradients = backward(request_, builder_);
    std::vector<std::pair<Value*, Value*>> replaced;
    std::vector<std::string> without;
    for (size_t i = 0; i < gradient_.outputs().size(); ++i) {
      Value* output = gradient_.output(i);
      if (!output) continue;
      Value* found = gradients.at(i);
      if (!found) {
        without.push_back(fmt::format("'{}'", request_.xs[i]->name()));
        continue;
      }
      // A node of its own, so that the gradient can have the name that the file gives it.
      const Expr result = builder_.add("Identity", {found}, found->type.dtype);
      result.value()->type = output->type;
      replaced.emplace_back(output, result.value());
    }
    if (!without.empty()) {
      throw Error(fmt::format("no gradient of '{}' reaches {}", y.value()->name(),
                              fmt::join(without, ", ")));
    }
    return replaced;
  }

 private:
  /// The standard lets a gradient be taken at other values than those that xs and zs name: then the
  /// forward nodes run a second time, with those values put in.
  void evaluate_at_inputs() {
    std::vector<Value*> named = request_.xs;
    named.insert(named.end(), request_.fixed.begin(), request_.fixed.end());
    ValueMap substitutes;
    for (size_t i = 0; i < std::min(named.size(), gradient_.inputs().size()); ++i) {
      Value* given = gradient_.input(i);
      if (given && given != named[i]) substitutes[named[i]] = given;
    }
    if (substitutes.empty()) return;
    ValueMap map = substitutes;
    const ValueSet fixed(named.begin(), named.end());
    ValueSet depends = fixed;
    for (Node* node : dependent_nodes(graph_, &gradient_, depends, fixed)) {
      Node* copy = clone_node(*node, graph_, map, &gradient_);
      for (const auto& output : copy->outputs()) {
        if (output) graph_.rename(output.get(), builder_.fresh(output->name()));
      }
    }
    for (Value*& y : request_.ys) y = mapped(map, y);
    for (Value*& x : request_.xs) x = mapped(substitutes, x);
    for (Value*& z : request_.fixed) z = mapped(substitutes, z);
  }

  Graph& graph_;
  Node& gradient_;
  Builder builder_;
  BackwardRequest request_;
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
