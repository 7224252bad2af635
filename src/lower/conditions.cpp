#include "lower/conditions.h"

#include <fmt/format.h>

#include "onward/error.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

void settle_condition(const Node& loop, Names& names) {
  Graph& body = **loop.get<std::unique_ptr<Graph>>("body");
  const Value* given = body.inputs()[1];
  const Node* maker = body.outputs()[0]->producer();
  const bool is_passed_on = maker && maker->op == "Identity" && maker->input(0) == given;
  if (is_passed_on) return;
  Builder inside(body, nullptr, names);
  body.set_output(0, cast(inside.scalar(1, DType::i64), DType::boolean).value());
  drop_unread_nodes(body);
  if (given->uses().empty()) return;
  throw Error(fmt::format("node '{}' (Loop): it has no condition, but its body computes with one",
                          loop.label()));
}

}  // namespace

void settle_conditions(Model& model) {
  Names names(model);
  for_each_node(*model.graph, [&](const Node& node) {
    const bool has_none = node.domain.empty() && node.op == "Loop" && !node.input(1);
    if (has_none) settle_condition(node, names);
  });
}

}  // namespace onward
