// If, Loop, Scan and SequenceMap as Python's own control flow, which autograd follows.

#include <fmt/format.h>

#include <algorithm>

#include "emit/call.h"
#include "emit/module.h"
#include "emit/torch/calls.h"
#include "ir/dependence.h"
#include "onward/error.h"

namespace onward::emit::torch {
namespace {

const Graph& graph_of(const Node& node, std::string_view attribute) {
  const auto* graph = node.get<std::unique_ptr<Graph>>(attribute);
  if (!graph || !*graph) throw Error(fmt::format("it has no graph '{}'", attribute));
  return **graph;
}

std::vector<const Value*> outputs_of(const Graph& graph, size_t from, size_t to) {
  const auto all = graph.outputs();
  if (to > all.size()) throw Error("its graph gives too few results");
  return {all.begin() + static_cast<ptrdiff_t>(from), all.begin() + static_cast<ptrdiff_t>(to)};
}

std::string name_of(const Value* value) {
  const std::string_view name = value->name();
  const size_t end = name.find_last_not_of("0123456789_");
  return std::string(end == std::string_view::npos ? name : name.substr(0, end + 1));
}

/// What a loop goes on with, and what it gathers.
class Iteration {
 public:
  Iteration(const Node& node, const Graph& graph, Body& body)
      : node_(node), graph_(graph), body_(body) {}

  /// A variable that begins as `first`, for an input of the graph and the result that follows it.
  void carry(const Value* input, const std::string& first, const Value* result) {
    const std::string variable = body_.variable({name_of(input), true});
    body_.add_line(fmt::format("{} = {}", variable, first));
    carried_.push_back({input, result, variable});
  }

  /// A list of what each iteration gives.
  void gather(const Value* result) {
    const std::string list = body_.variable({name_of(result) + "s", true});
    body_.add_line(fmt::format("{} = []", list));
    gathered_.push_back({result, list});
  }

  /// Inside of the loop: the inputs have their names.
  void begin() {
    for (const Carried& each : carried_) body_.alias(each.input, Form::plain, each.variable);
  }

  /// Writes the graph, and what the next iteration begins with.
  void write() {
    std::vector<const Value*> results;
    for (const Gathered& each : gathered_) results.push_back(each.result);
    for (const Carried& each : carried_) results.push_back(each.result);
    const auto texts = write_graph(graph_, results, body_);
    size_t at = 0;
    for (const Gathered& each : gathered_) {
      body_.add_statement(fmt::format("{}.append({})", each.list, texts[at++]));
    }
    std::vector<std::string> targets, values;
    for (const Carried& each : carried_) {
      const std::string& value = texts[at++];
      if (value == each.variable) continue;
      targets.push_back(each.variable);
      values.push_back(value);
    }
    if (!targets.empty()) {
      body_.add_statement(
          fmt::format("{} = {}", fmt::join(targets, ", "), fmt::join(values, ", ")));
    }
    if (targets.empty() && gathered_.empty()) body_.add_statement("pass");
  }

  /// Behind the loop: what is carried and what is gathered, as a tensor along an axis.
  void give_carried(size_t index, const Value* output) {
    if (output) body_.alias(output, Form::plain, carried_[index].variable);
  }
  void give_gathered(size_t index, const Value* output, int64_t axis, bool backwards,
                     bool has_any) {
    if (!output) return;
    const Call c(node_, body_, Form::plain);
    const Gathered& each = gathered_[index];
    const std::string list = each.list + (backwards ? "[::-1]" : "");
    std::string text = axis == 0 ? fmt::format("torch.stack({})", list)
                                 : fmt::format("torch.stack({}, dim={})", list, axis);
    if (!has_any) {
      text = fmt::format("{}({}, {}{}, dtype={})", c.function("stacked"), list,
                         empty_shape(*output, axis), axis == 0 ? "" : fmt::format(", dim={}", axis),
                         c.dtype_name(output->type.dtype));
    }
    body_.add_line(fmt::format("{} = {}", body_.declare(output, Form::plain), text));
  }
  const std::string& list(size_t index) const { return gathered_[index].list; }

 private:
  struct Carried {
    const Value *input, *result;
    std::string variable;
  };
  struct Gathered {
    const Value* result;
    std::string list;
  };

  /// What there is where nothing was gathered; None where the model does not say it.
  static std::string empty_shape(const Value& output, int64_t axis) {
    if (!output.type.shape) return "None";
    std::vector<int64_t> dims;
    const auto rank = std::ssize(*output.type.shape);
    for (int64_t d = 0; d < rank; ++d) {
      const auto& size = (*output.type.shape)[static_cast<size_t>(d)].value;
      const bool is_stacked = d == (axis < 0 ? axis + rank : axis);
      if (!is_stacked && !size) return "None";
      dims.push_back(is_stacked ? 0 : *size);
    }
    return python_tuple(dims);
  }

  const Node& node_;
  const Graph& graph_;
  Body& body_;
  std::vector<Carried> carried_;
  std::vector<Gathered> gathered_;
};

/// Whether results depend on a value.
bool any_reads(const std::vector<const Value*>& results, const Value* value) {
  return std::ranges::any_of(results, [&](const Value* each) {
    return each == value || dependencies(each).contains(value);
  });
}

const Value* behind_identities(const Value* value) {
  while (value->producer() && value->producer()->op == "Identity") {
    value = value->producer()->input(0);
  }
  return value;
}

bool is_always_true(const Value* value, const Known& known) {
  const Tensor* tensor = value ? known.find(value) : nullptr;
  return tensor && tensor->size() == 1 && tensor->integer(0) != 0;
}

/// One of a node's lists of axes or directions, which may be left out.
int64_t entry(const Node& node, std::string_view attribute, size_t index) {
  const auto* list = node.get<std::vector<int64_t>>(attribute);
  return list && index < list->size() ? (*list)[index] : 0;
}

}  // namespace

void if_(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  std::vector<std::string> made;
  for (const auto& output : node.outputs()) {
    made.push_back(output ? body.variable({name_of(output.get()), true}) : "_");
  }
  const Graph *first = &graph_of(node, "then_branch"), *second = &graph_of(node, "else_branch");
  const Tensor* known = c.constant(0);
  if (known && known->size() != 1) throw Error("its condition is no single one");
  const std::string condition = known ? python_bool(known->integer(0) != 0) : c.in(0);
  for (const Graph* branch : {first, second}) {
    body.open_block(branch == first ? fmt::format("if {}:", condition) : "else:");
    const auto results = write_graph(*branch, outputs_of(*branch, 0, made.size()), body);
    body.add_line(fmt::format("{} = {}", fmt::join(made, ", "), fmt::join(results, ", ")));
    body.close_block();
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (node.output(i)) body.alias(node.output(i), Form::plain, made[i]);
  }
}

void loop(const Node& node, Body& body) {
  constexpr size_t kFirstState = 2;  // behind the trip count and the condition
  const Call c(node, body, Form::plain);
  const Known& known = *body.context().known;
  const Graph& graph = graph_of(node, "body");
  const size_t inputs = std::max(node.inputs().size(), kFirstState);
  const size_t states = inputs - kFirstState, outputs = graph.outputs().size();
  if (graph.inputs().size() != inputs || outputs < states + 1) {
    throw Error("its body does not fit its inputs");
  }
  const Value *number = graph.inputs()[0], *given = graph.inputs()[1], *next = graph.outputs()[0];
  // Without a condition at the beginning, those of the body do not end the loop.
  const bool may_end =
      c.has(1) &&
      !(is_always_true(c.value(1), known) &&
        (behind_identities(next) == given || is_always_true(behind_identities(next), known)));
  const auto rest = outputs_of(graph, 1, outputs);
  Iteration iteration(node, graph, body);
  if (may_end || any_reads(rest, given)) {
    const std::string truth = fmt::format("torch.tensor(True)");
    const bool is_literal = !c.has(1) || is_always_true(c.value(1), known);
    iteration.carry(given, is_literal ? truth : c.in(1), next);
  }
  const size_t flags = may_end || any_reads(rest, given) ? 1 : 0;
  for (size_t i = 0; i < states; ++i) {
    iteration.carry(graph.inputs()[kFirstState + i], c.in(kFirstState + i), graph.outputs()[1 + i]);
  }
  for (size_t i = states + 1; i < outputs; ++i) iteration.gather(graph.outputs()[i]);

  std::string range = c.has(0) ? fmt::format("range({})", c.scalar(0))
                               : fmt::format("{}.count()", c.module("itertools"));
  std::vector<const Value*> all = rest;
  if (flags > 0) all.push_back(next);
  const bool counts = any_reads(all, number);
  const std::string step = body.variable({counts ? "step" : "_", true});
  body.open_block(fmt::format("for {} in {}:", counts ? step : "_", range));
  iteration.begin();
  if (may_end) {
    body.open_block(fmt::format("if not {}:", body.tensor(given)));
    body.add_statement("break");
    body.close_block();
  }
  if (counts) {
    body.add_line(fmt::format("{} = torch.tensor({})",
                              body.declare(number, Form::plain, {name_of(number), true}), step));
  }
  iteration.write();
  body.close_block();
  const Tensor* trips = c.has(0) ? c.constant(0) : nullptr;
  const bool has_any = trips && trips->size() == 1 && trips->integer(0) > 0 && !may_end;
  for (size_t i = 0; i < states; ++i) iteration.give_carried(flags + i, node.output(i));
  for (size_t i = states; i + 1 < outputs; ++i) {
    iteration.give_gathered(i - states, node.output(i), 0, false, has_any);
  }
}

void scan(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  const Graph& graph = graph_of(node, "body");
  const int64_t count = node.int_or("num_scan_inputs", 0);
  if (count < 1 || count > std::ssize(node.inputs()) ||
      graph.inputs().size() != node.inputs().size()) {
    throw Error("its body does not fit its inputs");
  }
  const auto sequences = static_cast<size_t>(count);
  const size_t states = node.inputs().size() - sequences, outputs = graph.outputs().size();
  if (outputs < states) throw Error("its body does not fit its inputs");
  Iteration iteration(node, graph, body);
  for (size_t i = 0; i < states; ++i) {
    iteration.carry(graph.inputs()[i], c.in(i), graph.outputs()[i]);
  }
  for (size_t i = states; i < outputs; ++i) iteration.gather(graph.outputs()[i]);
  std::vector<std::string> names, rows;
  bool has_any = false;
  for (size_t i = 0; i < sequences; ++i) {
    const int64_t axis = entry(node, "scan_input_axes", i);
    std::string row = c.in(states + i);
    if (entry(node, "scan_input_directions", i) != 0) row = fmt::format("{}.flip({})", row, axis);
    if (axis != 0) row = fmt::format("{}.unbind({})", row, axis);
    rows.push_back(row);
    names.push_back(body.variable({name_of(graph.inputs()[states + i]), true}));
    const auto& shape = c.value(states + i)->type.shape;
    if (!shape) continue;
    const int64_t place = axis < 0 ? axis + std::ssize(*shape) : axis;
    if (place < 0 || place >= std::ssize(*shape)) throw Error("its axes do not fit its inputs");
    has_any = has_any || (*shape)[static_cast<size_t>(place)].value.value_or(0) > 0;
  }
  const std::string all =
      sequences == 1 ? rows[0] : fmt::format("zip({}, strict=True)", fmt::join(rows, ", "));
  body.open_block(fmt::format("for {} in {}:", fmt::join(names, ", "), all));
  iteration.begin();
  for (size_t i = 0; i < sequences; ++i) {
    body.alias(graph.inputs()[states + i], Form::plain, names[i]);
  }
  iteration.write();
  body.close_block();
  for (size_t i = 0; i < states; ++i) iteration.give_carried(i, node.output(i));
  for (size_t i = states; i < outputs; ++i) {
    iteration.give_gathered(i - states, node.output(i), entry(node, "scan_output_axes", i - states),
                            entry(node, "scan_output_directions", i - states) != 0, has_any);
  }
}

void sequence_map(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  const Graph& graph = graph_of(node, "body");
  if (graph.inputs().size() != node.inputs().size()) {
    throw Error("its body does not fit its inputs");
  }
  Iteration iteration(node, graph, body);
  for (const Value* output : graph.outputs()) iteration.gather(output);
  std::vector<std::string> names, rows;
  std::vector<std::pair<const Value*, std::string>> inside;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* input = graph.inputs()[i];
    if (c.value(i)->type.kind != Type::Kind::sequence) {
      inside.emplace_back(input, c.in(i));
      continue;
    }
    rows.push_back(c.in(i));
    names.push_back(body.variable({name_of(input), true}));
    inside.emplace_back(input, names.back());
  }
  const std::string all =
      rows.size() == 1 ? rows[0] : fmt::format("zip({}, strict=True)", fmt::join(rows, ", "));
  body.open_block(fmt::format("for {} in {}:", fmt::join(names, ", "), all));
  for (const auto& [input, name] : inside) body.alias(input, Form::plain, name);
  iteration.write();
  body.close_block();
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i)) body.alias(node.output(i), Form::plain, iteration.list(i));
  }
}

}  // namespace onward::emit::torch
