#include "emit/sizes.h"

#include <algorithm>

#include "ir/rewrite.h"

namespace onward::emit {
namespace {

/// Shapes have few elements.
constexpr size_t kMaxSizes = 64;

bool is_int64(const Value* value) { return value && value->type.dtype == DType::i64; }

/// Never below zero, so that rounding down and towards zero are the same.
bool is_natural(const Size& size) {
  if (size.number) return *size.number >= 0;
  return size.op != '-' && std::ranges::all_of(size.parts, is_natural);
}

std::optional<Size> combined(char op, const Size& a, const Size& b) {
  if (op == '/' && !(is_natural(a) && b.number && *b.number > 0)) return std::nullopt;
  if (a.number && b.number) {
    int64_t result = 0;
    const bool overflows = op == '+'   ? __builtin_add_overflow(*a.number, *b.number, &result)
                           : op == '-' ? __builtin_sub_overflow(*a.number, *b.number, &result)
                           : op == '*' ? __builtin_mul_overflow(*a.number, *b.number, &result)
                                       : false;
    if (op == '/') result = *a.number / *b.number;
    return overflows ? std::nullopt : std::optional(Size{.number = result});
  }
  if (b.number == 1 && (op == '*' || op == '/')) return a;
  if (a.number == 1 && op == '*') return b;
  if (b.number == 0 && (op == '+' || op == '-')) return a;
  if (a.number == 0 && op == '+') return b;
  return Size{.op = op, .parts = {a, b}};
}

/// 0 or positive, for an index that may count from the end; nothing where it is outside.
std::optional<size_t> place(int64_t index, size_t size) {
  if (index < 0) index += static_cast<int64_t>(size);
  if (index < 0 || index >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

char operator_of(const Node& node) {
  constexpr std::pair<std::string_view, char> kOperators[] = {
      {"Add", '+'}, {"Div", '/'}, {"Mul", '*'}, {"Sub", '-'}};
  for (const auto& [op, sign] : kOperators) {
    if (node.op == op) return sign;
  }
  return 0;
}

}  // namespace

Sizes::Sizes(const Graph& graph, const Known& known) : known_(known) {
  for (const Value* input : graph.inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    for (const Dim& dim : *input->type.shape) {
      if (!dim.symbol.empty()) symbols_[dim.symbol] = true;
    }
  }
  for (const auto& node : graph.nodes()) {
    if (!node->domain.empty() || !is_int64(node->output(0)) || known.find(node->output(0)))
      continue;
    auto found = computed(*node);
    if (found && found->size() <= kMaxSizes) sizes_.emplace(node->output(0), std::move(*found));
  }
}

const std::vector<Size>* Sizes::find(const Value* value) const {
  const auto found = sizes_.find(value);
  return found == sizes_.end() ? nullptr : &found->second;
}

std::vector<const Value*> Sizes::bases(const Value* value) const {
  std::vector<const Value*> bases;
  const auto add = [&](const auto& self, const Size& size) -> void {
    if (size.base && std::ranges::find(bases, size.base) == bases.end()) bases.push_back(size.base);
    for (const Size& part : size.parts) self(self, part);
  };
  if (const auto* sizes = find(value)) {
    for (const Size& size : *sizes) add(add, size);
  }
  return bases;
}

Size Sizes::dimension(const Value* value, size_t axis) const {
  const Dim& dim = (*value->type.shape)[axis];
  if (dim.value) return {.number = dim.value};
  if (symbols_.contains(dim.symbol)) return {.symbol = dim.symbol};
  return {.base = value, .axis = axis};
}

std::optional<Sizes::Elements> Sizes::elements(const Value* value) const {
  if (!is_int64(value)) return std::nullopt;
  if (const auto* found = find(value)) return *found;
  const Tensor* tensor = known_.find(value);
  if (!tensor || tensor->dims().size() > 1 || tensor->size() > static_cast<int64_t>(kMaxSizes)) {
    return std::nullopt;
  }
  Elements numbers;
  for (const int64_t number : tensor->integers()) numbers.push_back({.number = number});
  return numbers;
}

std::optional<Sizes::Elements> Sizes::computed(const Node& node) const {
  const auto dimensions = rank(node.output(0));
  if (!dimensions || *dimensions > 1) return std::nullopt;
  if (node.op == "Shape") {
    const auto& shape = node.input(0)->type.shape;
    if (!shape) return std::nullopt;
    const auto count = static_cast<int64_t>(shape->size());
    const auto limit = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
    };
    Elements sizes;
    for (int64_t i = limit(node.int_or("start", 0)); i < limit(node.int_or("end", count)); ++i) {
      sizes.push_back(dimension(node.input(0), static_cast<size_t>(i)));
    }
    return sizes;
  }
  if (node.op == "Concat") {
    Elements all;
    for (const Value* input : node.inputs()) {
      const auto part = elements(input);
      if (!part) return std::nullopt;
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }
  const auto first = elements(node.input(0));
  if (!first) return std::nullopt;
  // These leave the elements as they are.
  if (node.op == "Cast" || node.op == "Identity" || node.op == "Reshape" || node.op == "Squeeze" ||
      node.op == "Unsqueeze") {
    return *dimensions == 1 || first->size() == 1 ? first : std::nullopt;
  }
  if (node.op == "Gather") {
    const auto indices = known_.integers(node.input(1));
    if (!indices || rank(node.input(0)) != 1) return std::nullopt;
    Elements picked;
    for (const int64_t index : *indices) {
      const auto at = place(index, first->size());
      if (!at) return std::nullopt;
      picked.push_back((*first)[*at]);
    }
    return picked;
  }
  if (node.op == "Slice") {
    const auto starts = known_.integers(node.input(1)), ends = known_.integers(node.input(2));
    const auto steps = node.input(4) ? known_.integers(node.input(4)) : std::vector<int64_t>{1};
    if (!starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 ||
        steps->size() != 1 || steps->front() != 1) {
      return std::nullopt;
    }
    const auto count = static_cast<int64_t>(first->size());
    const auto limit = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
    };
    const int64_t from = limit(starts->front()), to = std::max(from, limit(ends->front()));
    return Elements(first->begin() + from, first->begin() + to);
  }
  if (node.op == "ReduceProd" && rank(node.input(0)) == 1) {
    std::optional<Size> product = Size{.number = 1};
    for (size_t i = 0; product && i < first->size(); ++i) {
      product = combined('*', *product, (*first)[i]);
    }
    return product ? std::optional(Elements{*product}) : std::nullopt;
  }
  const char op = operator_of(node);
  if (op == 0) return std::nullopt;
  const auto second = elements(node.input(1));
  if (!second || (first->size() != second->size() && first->size() != 1 && second->size() != 1)) {
    return std::nullopt;
  }
  Elements results;
  for (size_t i = 0; i < std::max(first->size(), second->size()); ++i) {
    auto size =
        combined(op, (*first)[first->size() == 1 ? 0 : i], (*second)[second->size() == 1 ? 0 : i]);
    if (!size) return std::nullopt;
    results.push_back(std::move(*size));
  }
  return results;
}

}  // namespace onward::emit
