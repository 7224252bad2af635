#include <fmt/format.h>

#include <algorithm>

#include "emit/call.h"
#include "emit/module.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/op_def.h"

namespace onward::emit {
namespace {

bool lives_channels_last(const Value* value, const Body& body) {
  return body.has(value, Form::channels_last) && !body.has(value, Form::plain);
}

/// Whether an operator that works in either order can have this input with channels last.
bool can_be_channels_last(const Node& node, size_t index, int64_t rank, const Body& body) {
  const Value* value = node.input(index);
  if (!value || body.context().known->is_literal(value)) return true;
  const auto own = onward::rank(value);
  return own && (*own == rank || *own == 0);
}

/// A reduction that drops dimensions leaves nothing to follow.
bool keeps_rank(const Node& node) { return node.int_or("keepdims", 1) != 0; }

/// Where images have their channels last, what works in any order follows.
Form form_of(const Node& node, const Body& body) {
  if (!body.dialect().channels_last) return Form::plain;
  if (has_traits(node, kImages)) return Form::channels_last;
  if (!has_traits(node, kAnyLayout)) return Form::plain;
  for (const Value* input : node.inputs()) {
    if (!input || !lives_channels_last(input, body)) continue;
    const auto rank = onward::rank(input);
    bool all = rank && keeps_rank(node);
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      all = all && can_be_channels_last(node, i, *rank, body);
    }
    return all ? Form::channels_last : Form::plain;
  }
  return Form::plain;
}

/// Where images have their channels last, a Transpose that leads there or comes from there needs no
/// line: its result is what it reads in the other form.
bool is_said_by_form(const Node& node, Body& body) {
  const auto* order = node.get<std::vector<int64_t>>("perm");
  if (!body.dialect().channels_last || node.op != "Transpose" || !order || order->size() < 3) {
    return false;
  }
  const Value *x = node.input(0), *y = node.output(0);
  if (*order == from_channels_last(order->size()) && body.has(x, Form::plain)) {
    body.alias(y, Form::channels_last, body.tensor(x, Form::plain));
    return true;
  }
  if (*order == to_channels_last(order->size()) && body.has(x, Form::channels_last)) {
    body.alias(y, Form::plain, body.tensor(x, Form::channels_last));
    return true;
  }
  return false;
}

std::optional<Idiom> idiom_of(const Node& node, const Body& body) {
  const auto find = body.dialect().idiom;
  return find ? find(node, *body.context().known) : std::nullopt;
}

bool is_name(std::string_view text) {
  return Lines::is_mark(text) || std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
         });
}

}  // namespace

std::vector<const Node*> needed_nodes(const Graph& graph, std::span<const Value* const> results,
                                      const Known& known, const Body& body) {
  std::unordered_set<const Node*> needed;
  std::vector<const Value*> open(results.begin(), results.end());
  while (!open.empty()) {
    const Value* value = open.back();
    open.pop_back();
    if (!value || !value->producer() || known.find(value) || body.has(value)) continue;
    if (!needed.insert(value->producer()).second) continue;
    if (const auto idiom = idiom_of(*value->producer(), body)) {
      open.insert(open.end(), idiom->reads.begin(), idiom->reads.end());
      continue;
    }
    for (const Value* input : value->producer()->inputs()) open.push_back(input);
  }
  std::vector<const Node*> order;
  for (const auto& node : graph.nodes()) {
    if (needed.contains(node.get())) order.push_back(node.get());
  }
  return order;
}

void write_call(const Node& node, Body& body) {
  const Dialect& dialect = body.dialect();
  const CallRow* row = find_call(dialect, node);
  if (!row && node.domain.empty() && !dialect.unwritten.empty()) {
    throw Error(std::string(dialect.unwritten));
  }
  if (!row) throw Error("this operator has no counterpart in the table of calls");
  if (!row->cell.gap.empty()) throw Error(std::string(row->cell.gap));
  if (is_said_by_form(node, body)) return;
  if (const auto idiom = idiom_of(node, body)) {
    const std::string text = idiom->text(body);
    body.add_line(fmt::format("{} = {}", body.declare(node.output(0), Form::plain), text));
    return;
  }
  const size_t count = std::min(node.outputs().size(), row->results);
  for (size_t i = count; i < node.outputs().size(); ++i) {
    if (node.output(i) && is_needed(*node.output(i))) {
      throw Error(fmt::format("its result {} ('{}') can't be had", i, node.output(i)->name()));
    }
  }
  const Form form = form_of(node, body);
  const std::string text = emit_call(*row, Call(node, body, form));
  if (count == 1 && is_name(text) && node.output(0)) {
    body.alias(node.output(0), form, text);
    return;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const Value* value = node.output(i);
    const bool used = value && (i == 0 || is_needed(*value));
    names.push_back(used ? body.declare(value, i == 0 ? form : Form::plain) : "_");
  }
  body.add_line(fmt::format("{} = {}", fmt::join(names, ", "), text));
}

}  // namespace onward::emit
