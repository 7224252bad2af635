#include <fmt/format.h>

#include <algorithm>

#include "emit/call.h"
#include "emit/module.h"
#include "ir/dependence.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "ops/op_def.h"

namespace onward::emit {
namespace {

bool lives_channels_last(const Value* value, const Body& body) {
  return body.has(value, Form::channels_last) && body.first_form(value) == Form::channels_last;
}

/// Whether an operator that works in either order can have this input with channels last.
bool can_be_channels_last(const Node& node, size_t index, int64_t rank, const Body& body) {
  const Value* value = node.input(index);
  if (!value || body.context().known->is_literal(value)) return true;
  const auto own = onward::rank(value);
  return own && (*own == rank || *own == 0);
}

/// A reduction that drops dimensions leaves nothing to follow, unless it leaves batch and channels.
bool keeps_order(const Node& node, const Known& known) {
  if (node.int_or("keepdims", 1) != 0) return true;
  const auto axes = node.input(1) ? known.integers(node.input(1)) : std::nullopt;
  const auto dimensions = rank(node.input(0));
  return axes && dimensions && std::ssize(*axes) + 2 == *dimensions &&
         std::ranges::all_of(
             *axes, [&](int64_t axis) { return (axis < 0 ? axis + *dimensions : axis) >= 2; });
}

/// A Reshape or Flatten that leaves batch and channels as they are, and makes other spatial
/// dimensions of the spatial ones, of which none or a single place may be left. One size at most is
/// open, which is then what is left.
bool reshapes_places(const Node& node) {
  if (node.op != "Reshape" && node.op != "Flatten") return false;
  const auto &from = node.input(0)->type.shape, &to = node.output(0)->type.shape;
  if (!from || !to || from->size() < 3 || to->size() < 2) return false;
  const auto is_open = [](const Dim& dim) { return !dim.value; };
  const auto is_zero = [](const Dim& dim) { return dim.value == 0; };
  for (size_t i = 0; i < 2; ++i) {
    const Dim &a = (*from)[i], &b = (*to)[i];
    if (a != b || (!a.value && a.symbol.empty())) return false;
  }
  const auto is_one = [](const Dim& dim) { return dim.value == 1; };
  return std::ranges::count_if(*to, is_open) <= 1 && std::ranges::none_of(*to, is_zero) &&
         (to->size() > 2 || std::all_of(from->begin() + 2, from->end(), is_one));
}

/// Where images have their channels last, what works in any order follows.
Form form_of(const Node& node, const Body& body) {
  if (!body.dialect().channels_last) return Form::plain;
  if (has_traits(node, kImages)) return Form::channels_last;
  if (reshapes_places(node) && lives_channels_last(node.input(0), body)) {
    return Form::channels_last;
  }
  if (!has_traits(node, kAnyLayout)) return Form::plain;
  for (const Value* input : node.inputs()) {
    if (!input || !lives_channels_last(input, body)) continue;
    const auto rank = onward::rank(input);
    bool all = rank && keeps_order(node, *body.context().known);
    // The second input of a reduction is its axes.
    const size_t count = node.op.starts_with("Reduce") ? 1 : node.inputs().size();
    for (size_t i = 0; i < count; ++i) {
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
    for (const Value* read : all_reads(*value->producer())) open.push_back(read);
  }
  std::vector<const Node*> order;
  for (const auto& node : graph.nodes()) {
    if (needed.contains(node.get())) order.push_back(node.get());
  }
  return order;
}

std::vector<std::string> write_graph(const Graph& graph, std::span<const Value* const> results,
                                     Body& body) {
  for (const Node* node : needed_nodes(graph, results, *body.context().known, body)) {
    try {
      write_call(*node, body);
    } catch (const Error& error) {
      throw Error(fmt::format("in its graph, {} '{}': {}", node->op, node->label(), error.what()));
    }
  }
  std::vector<std::string> texts;
  for (const Value* result : results) texts.push_back(body.tensor(result));
  return texts;
}

void write_call(const Node& node, Body& body) {
  const Dialect& dialect = body.dialect();
  const CallRow* row = find_call(dialect, node);
  if (!row && node.domain.empty() && !dialect.unwritten.empty()) {
    throw Error(std::string(dialect.unwritten));
  }
  if (!row) throw Error("this operator has no counterpart in the table of calls");
  if (!row->cell.gap.empty()) throw Error(std::string(row->cell.gap));
  if (row->write) return row->write(node, body);
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
