#include "ops/gradient_values.h"

#include <fmt/format.h>

#include "onward/error.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

bool is_sequence(const Expr& value) { return value.value()->type.kind == Type::Kind::sequence; }

const Type& element_type(const Expr& sequence) { return *sequence.value()->type.element; }

}  // namespace

Expr mapped_elements(std::initializer_list<Expr> sequences, const Type& result,
                     const std::function<Expr(const std::vector<Expr>&)>& function) {
  Builder& b = sequences.begin()->builder();
  auto body = std::make_unique<Graph>(&b.graph());
  body->name = b.fresh("each");
  Builder inside = b.inside(*body);
  std::vector<Expr> elements;
  for (const Expr& sequence : sequences) {
    Value* element = body->add_input(b.fresh("element"), *sequence.value()->type.element);
    elements.push_back(inside.expr(element));
  }
  body->add_output(function(elements).value());
  SubgraphNode node{.op = "SequenceMap",
                    .inputs = values(sequences),
                    .graphs = {},
                    .outputs = {Type::sequence(result)}};
  node.graphs.emplace_back("body", std::move(body));
  return add_subgraph_node(b, std::move(node))[0];
}

bool has_gradient(const Type& type) {
  if (type.is_tensor()) return is_float(type.dtype);
  const bool holds = type.kind == Type::Kind::sequence || type.kind == Type::Kind::optional;
  return holds && type.element && has_gradient(*type.element);
}

Type gradient_type(const Type& type) {
  return type.kind == Type::Kind::optional ? gradient_type(*type.element) : type;
}

Expr zero_gradient(Expr value) {
  if (value.value()->type.is_tensor()) return zeros_like(value);
  if (is_sequence(value)) {
    return mapped_elements({value}, element_type(value),
                           [](const auto& x) { return zeros_like(x[0]); });
  }
  throw Error(
      fmt::format("'{}' may be there or not, and has no gradient of zeros", value.value()->name()));
}

Expr sum_of(Expr a, Expr b) {
  if (!is_sequence(a)) return a + b;
  return mapped_elements({a, b}, element_type(a), [](const auto& x) { return x[0] + x[1]; });
}

}  // namespace onward
