#include "emit/control_flow.h"

#include <fmt/format.h>

#include <algorithm>

#include "emit/module.h"
#include "ir/dependence.h"
#include "ir/rewrite.h"
#include "onward/error.h"

namespace onward::emit {
namespace {

constexpr std::string_view kNoFit = "its body does not fit its inputs";

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

/// The size along an axis, where the model says it.
std::optional<int64_t> size_along(const Value* value, int64_t axis) {
  const auto& shape = value->type.shape;
  if (!shape) return std::nullopt;
  const int64_t place = axis < 0 ? axis + std::ssize(*shape) : axis;
  if (place < 0 || place >= std::ssize(*shape)) throw Error("its axes do not fit its inputs");
  return (*shape)[static_cast<size_t>(place)].value;
}

}  // namespace

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

std::string plain_name(const Value* value) {
  const std::string_view name = value->name();
  const size_t end = name.find_last_not_of("0123456789_");
  return std::string(end == std::string_view::npos ? name : name.substr(0, end + 1));
}

bool any_reads(std::span<const Value* const> results, const Value* value) {
  return std::ranges::any_of(results, [&](const Value* each) {
    return each == value || dependencies(each).contains(value);
  });
}

bool is_container(const Value* value) {
  return value && (value->type.kind == Type::Kind::sequence ||
                   value->type.kind == Type::Kind::optional || value->type.kind == Type::Kind::map);
}

bool has_containers(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) {
    const auto graphs = node->subgraphs();
    return std::ranges::any_of(node->inputs(), is_container) ||
           std::ranges::any_of(node->outputs(),
                               [](const auto& output) { return is_container(output.get()); }) ||
           std::ranges::any_of(graphs, [](const Graph* each) { return has_containers(*each); });
  });
}

std::optional<std::vector<int64_t>> slice_dims(const Value& output, int64_t axis) {
  if (!output.type.shape) return std::nullopt;
  std::vector<int64_t> dims;
  const auto rank = std::ssize(*output.type.shape);
  for (int64_t d = 0; d < rank; ++d) {
    if (d == (axis < 0 ? axis + rank : axis)) continue;
    const auto& size = (*output.type.shape)[static_cast<size_t>(d)].value;
    if (!size) return std::nullopt;
    dims.push_back(*size);
  }
  return dims;
}

LoopFacts loop_facts(const Node& node, const Known& known) {
  constexpr size_t kFirstState = 2;  // behind the trip count and the condition
  const Graph& graph = graph_of(node, "body");
  const size_t inputs = std::max(node.inputs().size(), kFirstState);
  const size_t states = inputs - kFirstState, outputs = graph.outputs().size();
  if (graph.inputs().size() != inputs || outputs < states + 1) throw Error(std::string(kNoFit));
  LoopFacts facts{.graph = &graph,
                  .number = graph.inputs()[0],
                  .given = graph.inputs()[1],
                  .next = graph.outputs()[0],
                  .states = {},
                  .gathered = outputs_of(graph, states + 1, outputs)};
  for (size_t i = 0; i < states; ++i) {
    facts.states.push_back({graph.inputs()[kFirstState + i], graph.outputs()[1 + i]});
  }
  // Without a condition at the beginning, those of the body do not end the loop.
  const Value* first = node.input(1);
  const Value* next = behind_identities(facts.next);
  facts.may_end = first && !(is_always_true(first, known) &&
                             (next == facts.given || is_always_true(next, known)));
  auto read = outputs_of(graph, 1, outputs);
  facts.carries_truth = facts.may_end || any_reads(read, facts.given);
  if (facts.carries_truth) read.push_back(facts.next);
  facts.counts = any_reads(read, facts.number);
  return facts;
}

ScanFacts scan_facts(const Node& node) {
  const Graph& graph = graph_of(node, "body");
  const int64_t count = node.int_or("num_scan_inputs", 0);
  if (count < 1 || count > std::ssize(node.inputs()) ||
      graph.inputs().size() != node.inputs().size()) {
    throw Error(std::string(kNoFit));
  }
  const size_t states = node.inputs().size() - static_cast<size_t>(count);
  if (graph.outputs().size() < states) throw Error(std::string(kNoFit));
  ScanFacts facts{.graph = &graph, .states = {}, .inputs = {}, .outputs = {}};
  for (size_t i = 0; i < states; ++i) {
    facts.states.push_back({graph.inputs()[i], graph.outputs()[i]});
  }
  for (size_t i = states; i < graph.inputs().size(); ++i) {
    const int64_t axis = entry(node, "scan_input_axes", i - states);
    const bool is_backwards = entry(node, "scan_input_directions", i - states) != 0;
    facts.inputs.push_back({graph.inputs()[i], axis, is_backwards});
    facts.has_any = facts.has_any || size_along(node.input(i), axis).value_or(0) > 0;
  }
  for (size_t i = states; i < graph.outputs().size(); ++i) {
    facts.outputs.push_back({graph.outputs()[i], entry(node, "scan_output_axes", i - states),
                             entry(node, "scan_output_directions", i - states) != 0});
  }
  return facts;
}

// Python's own.

void PythonLoop::carry(Carried state, const std::string& first) {
  const std::string variable = body_.variable({plain_name(state.input), true});
  body_.add_line(fmt::format("{} = {}", variable, first));
  states_.emplace_back(state, variable);
}

void PythonLoop::gather(const Value* result) {
  const std::string list = body_.variable({plain_name(result) + "s", true});
  body_.add_line(fmt::format("{} = []", list));
  lists_.emplace_back(result, list);
}

void PythonLoop::open(const std::string& line) {
  body_.open_block(line);
  for (const auto& [state, variable] : states_) body_.alias(state.input, Form::plain, variable);
}

void PythonLoop::close() {
  std::vector<const Value*> results;
  for (const auto& [result, list] : lists_) results.push_back(result);
  for (const auto& [state, variable] : states_) results.push_back(state.result);
  const auto texts = write_graph(graph_, results, body_);
  size_t at = 0;
  for (const auto& [result, list] : lists_) {
    body_.add_statement(fmt::format("{}.append({})", list, texts[at++]));
  }
  std::vector<std::string> targets, values;
  for (const auto& [state, variable] : states_) {
    const std::string& value = texts[at++];
    if (value == variable) continue;
    targets.push_back(variable);
    values.push_back(value);
  }
  if (!targets.empty()) {
    body_.add_statement(fmt::format("{} = {}", fmt::join(targets, ", "), fmt::join(values, ", ")));
  }
  if (targets.empty() && lists_.empty()) body_.add_statement("pass");
  body_.close_block();
}

void PythonLoop::give_carried(size_t index, const Value* output) {
  if (output) body_.alias(output, Form::plain, states_[index].second);
}

void PythonLoop::give_gathered(size_t index, const Value* output, int64_t axis, bool is_backwards,
                               bool has_any) {
  if (!output) return;
  const Call c(node_, body_, Form::plain);
  const std::string list = lists_[index].second + (is_backwards ? "[::-1]" : "");
  const std::string along = axis == 0 ? "" : fmt::format(fmt::runtime(words_.axis), axis);
  std::string text = fmt::format(fmt::runtime(words_.stack), list + along);
  if (!has_any) {
    auto empty = slice_dims(*output, axis);
    if (empty) empty->insert(axis < 0 ? empty->end() + axis + 1 : empty->begin() + axis, 0);
    text =
        fmt::format("{}({}, {}, dtype={}{})", c.function("stacked"), list,
                    empty ? python_tuple(*empty) : "None", c.dtype_name(output->type.dtype), along);
  }
  body_.add_line(fmt::format("{} = {}", body_.declare(output, Form::plain), text));
}

std::string for_each(const std::vector<std::string>& names, const std::vector<std::string>& rows) {
  const std::string all =
      rows.size() == 1 ? rows[0] : fmt::format("zip({}, strict=True)", fmt::join(rows, ", "));
  return fmt::format("for {} in {}:", fmt::join(names, ", "), all);
}

bool write_known_branch(const Node& node, Body& body) {
  const Tensor* condition = body.context().known->find(node.input(0));
  if (!condition) return false;
  if (condition->size() != 1) throw Error("its condition is no single one");
  const Graph& graph = graph_of(node, condition->integer(0) != 0 ? "then_branch" : "else_branch");
  const auto results = write_graph(graph, outputs_of(graph, 0, node.outputs().size()), body);
  for (size_t i = 0; i < results.size(); ++i) {
    if (node.output(i)) body.alias(node.output(i), Form::plain, results[i]);
  }
  return true;
}

void python_if(const Node& node, Body& body, const std::string& condition) {
  std::vector<std::string> made;
  for (const auto& output : node.outputs()) {
    made.push_back(output ? body.variable({plain_name(output.get()), true}) : "_");
  }
  for (const bool is_first : {true, false}) {
    const Graph& branch = graph_of(node, is_first ? "then_branch" : "else_branch");
    body.open_block(is_first ? fmt::format("if {}:", condition) : "else:");
    const auto results = write_graph(branch, outputs_of(branch, 0, made.size()), body);
    body.add_line(fmt::format("{} = {}", fmt::join(made, ", "), fmt::join(results, ", ")));
    body.close_block();
  }
  for (size_t i = 0; i < made.size(); ++i) {
    if (node.output(i)) body.alias(node.output(i), Form::plain, made[i]);
  }
}

void python_loop(const Node& node, const LoopFacts& facts, Body& body, const std::string& trips,
                 const LoopWords& words) {
  const Call c(node, body, Form::plain);
  PythonLoop loop(node, *facts.graph, body, words);
  if (facts.carries_truth) {
    const bool is_literal = !c.has(1) || is_always_true(c.value(1), *body.context().known);
    loop.carry({facts.given, facts.next}, is_literal ? std::string(words.truth) : c.in(1));
  }
  const size_t flags = facts.carries_truth ? 1 : 0;
  for (size_t i = 0; i < facts.states.size(); ++i) loop.carry(facts.states[i], c.in(2 + i));
  for (const Value* each : facts.gathered) loop.gather(each);
  const std::string step = facts.counts ? body.variable({"step", true}) : "_";
  loop.open(fmt::format("for {} in {}:", step, trips));
  if (facts.may_end) {
    body.open_block(fmt::format("if not {}:", body.tensor(facts.given)));
    body.add_statement("break");
    body.close_block();
  }
  if (facts.counts) body.set_number(facts.number, step);
  loop.close();
  const Tensor* number = c.has(0) ? c.constant(0) : nullptr;
  const bool has_any = number && number->size() == 1 && number->integer(0) > 0 && !facts.may_end;
  for (size_t i = 0; i < facts.states.size(); ++i) loop.give_carried(flags + i, node.output(i));
  for (size_t i = 0; i < facts.gathered.size(); ++i) {
    loop.give_gathered(i, node.output(facts.states.size() + i), 0, false, has_any);
  }
}

void python_sequence_map(const Node& node, Body& body, const LoopWords& words) {
  const Call c(node, body, Form::plain);
  const Graph& graph = graph_of(node, "body");
  if (graph.inputs().size() != node.inputs().size()) throw Error(std::string(kNoFit));
  PythonLoop loop(node, graph, body, words);
  for (const Value* output : graph.outputs()) loop.gather(output);
  std::vector<std::string> names, rows;
  std::vector<std::pair<const Value*, std::string>> inside;
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* input = graph.inputs()[i];
    if (c.value(i)->type.kind != Type::Kind::sequence) {
      inside.emplace_back(input, c.in(i));
      continue;
    }
    rows.push_back(c.in(i));
    names.push_back(body.variable({plain_name(input), true}));
    inside.emplace_back(input, names.back());
  }
  loop.open(for_each(names, rows));
  for (const auto& [input, name] : inside) body.alias(input, Form::plain, name);
  loop.close();
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i)) body.alias(node.output(i), Form::plain, loop.list(i));
  }
}

void sequence_length(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  body.set_number(node.output(0), fmt::format("len({})", c.in(0)));
}

void has_element(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  body.set_number(node.output(0), c.has(0) ? fmt::format("{} is not None", c.in(0)) : "False");
}

}  // namespace onward::emit
