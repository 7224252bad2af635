// Sequences of tensors, and values that may be there or not. The gradient of a sequence is a
// sequence of as many tensors, that of an optional value the gradient of what is in it.

#include <fmt/format.h>

#include "onward/error.h"
#include "ops/families.h"
#include "ops/gradient_values.h"
#include "ops/subgraph.h"

namespace onward {
namespace {

Expr length_of(Expr sequence) {
  return sequence.builder().add("SequenceLength", {sequence.value()}, DType::i64);
}

Expr element_at(Expr sequence, Expr position) {
  return sequence.builder().add_value("SequenceAt", values({sequence, position}),
                                      *sequence.value()->type.element);
}

Expr inserted(Expr sequence, Expr element, Expr position) {
  return sequence.builder().add_value("SequenceInsert", values({sequence, element, position}),
                                      sequence.value()->type);
}

Expr erased(Expr sequence, Expr position) {
  return sequence.builder().add_value("SequenceErase", values({sequence, position}),
                                      sequence.value()->type);
}

/// A position counted from the front of a sequence of `length` elements.
Expr from_front(Expr position, Expr length) {
  const Expr zero = position.builder().scalar(0, position.dtype());
  return where(less(position, zero), position + cast(length, position.dtype()), position);
}

Grads sequence_construct_vjp(const VjpContext& c) {
  Grads grads;
  for (size_t i = 0; i < c.node().inputs().size(); ++i) {
    const Expr position = c.builder().scalar(static_cast<double>(i), DType::i64);
    grads.emplace_back(element_at(c.grad(0), position));
  }
  return grads;
}

Grads sequence_at_vjp(const VjpContext& c) {
  const Expr sequence = c.input(0), at = from_front(c.input(1), length_of(sequence));
  return {inserted(erased(zero_gradient(sequence), at), c.grad(0), at)};
}

Grads sequence_insert_vjp(const VjpContext& c) {
  const Expr dy = c.grad(0);
  const Expr last = length_of(dy) - c.builder().scalar(1, DType::i64);
  const Expr at = c.has_input(2) ? from_front(c.input(2), last) : last;
  return {erased(dy, at), element_at(dy, at)};
}

Grads sequence_erase_vjp(const VjpContext& c) {
  const Expr sequence = c.input(0), length = length_of(sequence);
  const Expr at =
      c.has_input(1) ? from_front(c.input(1), length) : length - c.builder().scalar(1, DType::i64);
  return {inserted(c.grad(0), zeros_like(element_at(sequence, at)), at)};
}

Grads split_to_sequence_vjp(const VjpContext& c) {
  const bool drops_axis = !c.has_input(1) && c.attribute("keepdims", 1) == 0;
  return {c.builder().add("ConcatFromSequence", {c.grad(0).value()}, c.input(0).dtype(),
                          {{"axis", c.attribute("axis", 0)}, {"new_axis", int64_t{drops_axis}}})};
}

/// Each element gets the part of the gradient that has its size.
Grads concat_from_sequence_vjp(const VjpContext& c) {
  Builder& b = c.builder();
  const Expr sequence = c.input(0), dy = c.grad(0);
  const int64_t axis = c.attribute("axis", 0);
  if (c.attribute("new_axis", 0) != 0) {
    return {b.add_value("SplitToSequence", {dy.value()}, sequence.value()->type,
                        {{"axis", axis}, {"keepdims", int64_t{0}}})};
  }
  const Expr sizes = mapped_elements({sequence}, Type::tensor(DType::i64, Shape{Dim::known(1)}),
                                     [&](const auto& x) { return dim_of(x[0], axis); });
  const Expr split =
      b.add("ConcatFromSequence", {sizes.value()}, DType::i64, {{"axis", int64_t{0}}});
  return {b.add_value("SplitToSequence", values({dy, split}), sequence.value()->type,
                      {{"axis", axis}})};
}

Grads passed_on(const VjpContext& c) { return {c.grad(0)}; }

bool is_sequence_type(const Value* value) { return value->type.kind == Type::Kind::sequence; }

/// SequenceMap as a Loop over positions, which appends what the body gives to its results. What the
/// body reads of the graph around, it reads here as well.
std::vector<Expr> map_as_loop(const Node& node, Builder& b) {
  const Graph& each = **node.get<std::unique_ptr<Graph>>("body");
  auto graph = std::make_unique<Graph>(&b.graph());
  graph->name = b.fresh(each.name);
  Builder inside = b.inside(*graph);
  const auto input = [&](const char* name, Type type) {
    return inside.expr(graph->add_input(b.fresh(name), std::move(type)));
  };
  const Expr position = input("position", Type::tensor(DType::i64, Shape{}));
  const Expr goes_on = input("goes_on", Type::tensor(DType::boolean, Shape{}));
  const Expr truth = cast(b.scalar(1, DType::i64), DType::boolean);
  std::vector<Value*> inputs = {length_of(b.expr(node.input(0))).value(), truth.value()};
  std::vector<Type> types;
  std::vector<Expr> so_far;
  for (const Value* output : each.outputs()) {
    const DType dtype = output->type.dtype;
    types.push_back(Type::sequence(Type::tensor(dtype)));
    inputs.push_back(
        b.add_value("SequenceEmpty", {}, types.back(), {{"dtype", static_cast<int64_t>(dtype)}})
            .value());
    so_far.push_back(input("so_far", types.back()));
  }
  ValueMap map;
  for (size_t i = 0; i < each.inputs().size(); ++i) {
    const Expr given = inside.expr(node.input(i));
    map[each.inputs()[i]] =
        is_sequence_type(given.value()) ? element_at(given, position).value() : given.value();
  }
  for (const Value* value : each.initializers()) {
    map[value] = graph->add_initializer(value->name(), *value->initializer());
  }
  for (const auto& inner : each.nodes()) clone_node(*inner, *graph, map);
  graph->add_output(computed_inside(inside, goes_on.value()));
  for (size_t i = 0; i < so_far.size(); ++i) {
    Value* result = mapped(map, each.outputs()[i]);
    graph->add_output(
        inside.add_value("SequenceInsert", {so_far[i].value(), result}, types[i]).value());
  }
  SubgraphNode loop{.op = "Loop", .inputs = std::move(inputs), .graphs = {}, .outputs = types};
  loop.graphs.emplace_back("body", std::move(graph));
  return add_subgraph_node(b, std::move(loop));
}

std::vector<Expr> sequence_map_expansion(const ExpandContext& c) {
  return map_as_loop(c.node(), c.builder());
}

Grads sequence_map_vjp(const VjpContext& c) {
  for_each_node(**c.node().get<std::unique_ptr<Graph>>("body"), [](const Node& inner) {
    if (!draws_random_numbers(inner)) return;
    throw Error(
        fmt::format("{} (node '{}') draws random numbers, which can't be kept for the "
                    "gradient",
                    inner.op, inner.label()));
  });
  const std::vector<Expr> results = map_as_loop(c.node(), c.builder());
  std::vector<Value*> ys, dys, xs = wanted_captures(c);
  const size_t captures = xs.size();
  for (size_t i = 0; i < results.size(); ++i) {
    if (!c.has_grad(i)) continue;
    ys.push_back(results[i].value());
    dys.push_back(c.grad(i).value());
  }
  Grads grads(c.node().inputs().size());
  std::vector<size_t> inputs;
  for (size_t i = 0; i < grads.size(); ++i) {
    if (!c.differentiator().is_wanted(c.node().input(i))) continue;
    // A value that the node reads twice has its whole gradient in the first place.
    const auto first = std::ranges::find(xs, c.node().input(i));
    if (first != xs.end()) {
      if (has_gradient((*first)->type)) grads[i] = zero_gradient(c.input(i));
      continue;
    }
    xs.push_back(c.node().input(i));
    inputs.push_back(i);
  }
  const auto gradients = c.differentiator().differentiate(ys, dys, xs, c.builder());
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!gradients[i] && !has_gradient(xs[i]->type)) continue;
    const Expr gradient =
        gradients[i] ? c.builder().expr(gradients[i]) : zero_gradient(c.builder().expr(xs[i]));
    if (i < captures) {
      c.add_captured(xs[i], gradient);
    } else {
      grads[inputs[i - captures]] = gradient;
    }
  }
  return grads;
}

const OpDef kSequenceOps[] = {
    {.name = "ConcatFromSequence", .vjp = concat_from_sequence_vjp},
    {.name = "Optional", .vjp = passed_on},
    {.name = "OptionalGetElement", .vjp = passed_on},
    {.name = "OptionalHasElement", .no_gradient = "its result is true or false"},
    {.name = "SequenceAt", .vjp = sequence_at_vjp},
    {.name = "SequenceConstruct", .vjp = sequence_construct_vjp},
    {.name = "SequenceEmpty", .no_gradient = "it has no inputs"},
    {.name = "SequenceErase", .vjp = sequence_erase_vjp},
    {.name = "SequenceInsert", .vjp = sequence_insert_vjp},
    {.name = "SequenceLength", .no_gradient = "its result is a count"},
    {.name = "SequenceMap", .vjp = sequence_map_vjp, .expansion = sequence_map_expansion},
    {.name = "SplitToSequence", .vjp = split_to_sequence_vjp},
};

}  // namespace

std::span<const OpDef> sequence_ops() { return kSequenceOps; }

}  // namespace onward
