#include "grad/backward.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/dependence.h"
#include "onward/error.h"
#include "ops/gradient_values.h"
#include "ops/legalize.h"

namespace onward {
namespace {

class Backward final : public Differentiator {
 public:
  Backward(const BackwardRequest& request, Builder& builder)
      : request_(request), builder_(builder) {
    fixed_.insert(request.xs.begin(), request.xs.end());
    fixed_.insert(request.fixed.begin(), request.fixed.end());
  }

  std::vector<Value*> run() {
    const std::vector<Node*> path = nodes_on_the_way();
    refuse_operators_without_gradient(path);
    for (size_t i = 0; i < request_.ys.size(); ++i) {
      add(request_.ys[i], builder_.expr(request_.dys[i]));
    }
    for (auto node = path.rbegin(); node != path.rend(); ++node) step_back(**node);
    std::vector<Value*> gradients;
    for (const Value* x : request_.xs) {
      const auto found = gradients_.find(x);
      gradients.push_back(found == gradients_.end() ? nullptr : found->second);
    }
    return gradients;
  }

  std::vector<Value*> differentiate(const std::vector<Value*>& ys, const std::vector<Value*>& dys,
                                    const std::vector<Value*>& xs, Builder& inside) override {
    return backward({.ys = ys, .dys = dys, .xs = xs}, inside);
  }

  bool is_wanted(const Value* value) const override { return depends_on_xs_.contains(value); }

 private:
  /// Nodes before the builder's place that compute ys from xs, in order.
  std::vector<Node*> nodes_on_the_way() {
    depends_on_xs_.insert(request_.xs.begin(), request_.xs.end());
    const std::vector<Node*> forward =
        dependent_nodes(builder_.graph(), builder_.before(), depends_on_xs_, fixed_);
    ValueSet leads_to_y(request_.ys.begin(), request_.ys.end());
    std::vector<Node*> path;
    for (auto node = forward.rbegin(); node != forward.rend(); ++node) {
      const bool leads = std::ranges::any_of((*node)->outputs(), [&](const auto& output) {
        return output && leads_to_y.contains(output.get()) && !fixed_.contains(output.get());
      });
      if (!leads) continue;
      path.push_back(*node);
      for (const Value* read : all_reads(**node)) leads_to_y.insert(read);
    }
    std::ranges::reverse(path);
    return path;
  }

  static void refuse_operators_without_gradient(const std::vector<Node*>& path) {
    std::set<std::string> missing;
    for (const Node* node : path) {
      const OpDef* definition = find_op_def(*node);
      if (definition && (definition->vjp || !definition->no_gradient.empty())) continue;
      if (has_expansion(*node)) continue;
      missing.insert(fmt::format("{} (node '{}')", full_name(*node), node->label()));
    }
    if (!missing.empty()) {
      throw Error(fmt::format("no gradient is known for {}", fmt::join(missing, ", ")));
    }
  }

  void step_back(Node& node) {
    std::vector<Value*> output_gradients(node.outputs().size(), nullptr);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      if (!node.output(i) || fixed_.contains(node.output(i))) continue;
      const auto found = gradients_.find(node.output(i));
      if (found != gradients_.end()) output_gradients[i] = found->second;
    }
    if (std::ranges::all_of(output_gradients, [](const Value* each) { return !each; })) return;
    const OpDef* definition = find_op_def(node);
    if (definition && !definition->no_gradient.empty()) return;
    try {
      if (definition && definition->vjp) {
        apply_rule(*definition, node, std::move(output_gradients));
      } else {
        go_through_expansion(node, output_gradients);
      }
    } catch (Error& error) {
      error.add_context(fmt::format("in the gradient of node '{}' ({})", node.label(), node.op));
      throw;
    }
  }

  void apply_rule(const OpDef& definition, Node& node, std::vector<Value*> output_gradients) {
    const VjpContext context(node, builder_, std::move(output_gradients), *this);
    Grads grads = definition.vjp(context);
    grads.resize(node.inputs().size());
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      Value* input = node.input(i);
      if (!input || !depends_on_xs_.contains(input)) continue;
      if (!grads[i]) {
        refuse_input_without_gradient(definition, node, i);
        continue;
      }
      add(input, definition.has(kBroadcasts) ? sum_to(*grads[i], shape_of(builder_.expr(input)))
                                             : *grads[i]);
    }
    for (const auto& [captured, gradient] : context.captured_gradients()) {
      if (depends_on_xs_.contains(captured)) add(captured, gradient);
    }
  }

  /// A gradient that a rule leaves out would count as zero next to what reaches xs elsewhere.
  static void refuse_input_without_gradient(const OpDef& definition, const Node& node, size_t i) {
    if (!has_gradient(node.input(i)->type) || (i < 32 && definition.constant_in >> i & 1)) return;
    throw Error(fmt::format("{} (node '{}') has no gradient with respect to its input {}, '{}'",
                            node.op, node.label(), i, node.input(i)->name()));
  }

  /// The forward node stays, so that its kernel does; what the backward needs is computed anew.
  void go_through_expansion(Node& node, const std::vector<Value*>& output_gradients) {
    const std::vector<Expr> results = expand_node(node, builder_);
    BackwardRequest request;
    for (size_t i = 0; i < output_gradients.size(); ++i) {
      if (!output_gradients[i]) continue;
      request.ys.push_back(results.at(i).value());
      request.dys.push_back(output_gradients[i]);
    }
    for (Value* input : node.inputs()) {
      const bool listed = std::ranges::find(request.xs, input) != request.xs.end();
      if (input && depends_on_xs_.contains(input) && !listed) request.xs.push_back(input);
    }
    const std::vector<Value*> gradients = backward(request, builder_);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i]) add(request.xs[i], builder_.expr(gradients[i]));
    }
  }

  /// Gradients that reach a value by several ways add up.
  void add(const Value* value, Expr gradient) {
    const auto [found, added] = gradients_.emplace(value, gradient.value());
    if (!added) found->second = sum_of(builder_.expr(found->second), gradient).value();
  }

  const BackwardRequest& request_;
  Builder& builder_;
  ValueSet fixed_;
  ValueSet depends_on_xs_;
  std::unordered_map<const Value*, Value*> gradients_;
};

}  // namespace

std::vector<Node*> dependent_nodes(const Graph& graph, const Node* before, ValueSet& values,
                                   const ValueSet& fixed) {
  std::vector<Node*> nodes;
  for (const auto& node : graph.nodes()) {
    if (node.get() == before) break;
    const auto reads = all_reads(*node);
    if (std::ranges::none_of(reads, [&](const Value* v) { return v && values.contains(v); })) {
      continue;
    }
    nodes.push_back(node.get());
    for (const auto& output : node->outputs()) {
      if (output && !fixed.contains(output.get())) values.insert(output.get());
    }
  }
  return nodes;
}

std::vector<Value*> backward(const BackwardRequest& request, Builder& builder) {
  return Backward(request, builder).run();
}

}  // namespace onward
