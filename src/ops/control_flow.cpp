// Operators that run graphs. Their gradients are plain control flow again, so that they can be
// differentiated, run and lowered like any other.

#include "ops/families.h"
#include "ops/gradient_values.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

constexpr const char* kBranches[] = {"then_branch", "else_branch"};

Graph& branch_of(const VjpContext& c, const char* name) {
  return **c.node().get<std::unique_ptr<Graph>>(name);
}

/// Lets a branch give a value that the other branch has no counterpart of; gives the node's output.
Value* kept_of_branch(const VjpContext& c, Graph& branch, Value* value) {
  Node& node = c.forward();
  for (const char* name : kBranches) {
    Graph& each = branch_of(c, name);
    Builder inside = c.builder().inside(each);
    const Expr given = &each == &branch ? inside.add_value("Identity", {value}, value->type)
                                        : cast(inside.integers({}), value->type.dtype);
    each.add_output(given.value());
  }
  const size_t index = branch.outputs().size() - 1;
  return node.set_output(index, c.builder().fresh(value->name() + "_kept"),
                         Type::tensor(value->type.dtype));
}

/// The backward of one branch: its gradients with respect to each of xs, null where none reaches.
std::vector<Value*> branch_gradients(const VjpContext& c, Graph& forward, Graph& backward,
                                     const std::vector<Value*>& xs) {
  const Recomputed recomputed(forward, backward, {});
  Builder inside = c.builder().inside(backward);
  std::vector<Value*> ys, dys;
  for (size_t i = 0; i < c.node().outputs().size(); ++i) {
    if (!c.has_grad(i)) continue;
    ys.push_back(recomputed.of(forward.outputs()[i]));
    dys.push_back(c.grad(i).value());
  }
  const auto gradients = c.differentiator().differentiate(ys, dys, xs, inside);
  for (const auto& [drawn, copy] : recomputed.random_reads(inside)) {
    backward.replace_uses(copy, kept_of_branch(c, forward, drawn));
  }
  return gradients;
}

// The branch that was taken is computed again, and its backward is taken. A value that only the
// other branch reads has a gradient of zeros.
Grads if_vjp(const VjpContext& c) {
  const std::vector<Value*> xs = wanted_captures(c);
  Builder& b = c.builder();
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::vector<Value*>> gradients;
  for (const char* name : kBranches) {
    Graph& graph = *graphs.emplace_back(std::make_unique<Graph>(&b.graph()));
    graph.name = b.fresh("d_" + std::string(name));
    gradients.push_back(branch_gradients(c, branch_of(c, name), graph, xs));
  }
  std::vector<Value*> reached;
  std::vector<Type> types;
  for (size_t x = 0; x < xs.size(); ++x) {
    if (!gradients[0][x] && !gradients[1][x]) continue;
    reached.push_back(xs[x]);
    types.push_back(gradient_type(xs[x]->type));
    for (size_t branch = 0; branch < 2; ++branch) {
      Builder inside = b.inside(*graphs[branch]);
      Value* given = gradients[branch][x];
      if (!given) given = zero_gradient(inside.expr(xs[x])).value();
      graphs[branch]->add_output(computed_inside(inside, given));
    }
  }
  for (const auto& graph : graphs) drop_unread_nodes(*graph);
  if (reached.empty()) return {};
  std::vector<std::pair<std::string, std::unique_ptr<Graph>>> attributes;
  for (size_t branch = 0; branch < 2; ++branch) {
    attributes.emplace_back(kBranches[branch], std::move(graphs[branch]));
  }
  const auto results = add_subgraph_node(b, {.op = "If",
                                             .inputs = {c.node().input(0)},
                                             .graphs = std::move(attributes),
                                             .outputs = std::move(types)});
  for (size_t i = 0; i < reached.size(); ++i) c.add_captured(reached[i], results[i]);
  return {};
}

const OpDef kControlFlowOps[] = {
    {.name = "If", .vjp = if_vjp},
    {.name = "Loop", .vjp = iterated_vjp},
    {.name = "Scan", .vjp = iterated_vjp},
};

}  // namespace

std::span<const OpDef> control_flow_ops() { return kControlFlowOps; }

}  // namespace onward
