// If, Loop, Scan and SequenceMap as Python's own control flow, which autograd follows.

#include "emit/control_flow.h"

#include <fmt/format.h>

#include "emit/torch/calls.h"

namespace onward::emit::torch {
namespace {

constexpr LoopWords kLoopWords = {
    .truth = "torch.tensor(True)", .stack = "torch.stack({})", .axis = ", dim={}"};

}  // namespace

void if_(const Node& node, Body& body) {
  if (write_known_branch(node, body)) return;
  python_if(node, body, Call(node, body, Form::plain).in(0));
}

void loop(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  const std::string trips = c.has(0) ? fmt::format("range({})", c.scalar(0))
                                     : fmt::format("{}.count()", c.module("itertools"));
  python_loop(node, loop_facts(node, *body.context().known), body, trips, kLoopWords);
}

void scan(const Node& node, Body& body) {
  const Call c(node, body, Form::plain);
  const ScanFacts facts = scan_facts(node);
  const size_t states = facts.states.size();
  PythonLoop loop(node, *facts.graph, body, kLoopWords);
  for (size_t i = 0; i < states; ++i) loop.carry(facts.states[i], c.in(i));
  for (const auto& output : facts.outputs) loop.gather(output.value);
  std::vector<std::string> names, rows;
  for (size_t i = 0; i < facts.inputs.size(); ++i) {
    const auto& [value, axis, is_backwards] = facts.inputs[i];
    std::string row = c.in(states + i);
    if (is_backwards) row = fmt::format("{}.flip({})", row, axis);
    if (axis != 0) row = fmt::format("{}.unbind({})", row, axis);
    rows.push_back(row);
    names.push_back(body.variable({plain_name(value), true}));
  }
  loop.open(for_each(names, rows));
  for (size_t i = 0; i < names.size(); ++i) {
    body.alias(facts.inputs[i].value, Form::plain, names[i]);
  }
  loop.close();
  for (size_t i = 0; i < states; ++i) loop.give_carried(i, node.output(i));
  for (size_t i = 0; i < facts.outputs.size(); ++i) {
    const auto& [value, axis, is_backwards] = facts.outputs[i];
    loop.give_gathered(i, node.output(states + i), axis, is_backwards, facts.has_any);
  }
}

void sequence_map(const Node& node, Body& body) { python_sequence_map(node, body, kLoopWords); }

}  // namespace onward::emit::torch
