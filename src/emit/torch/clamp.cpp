#include "emit/torch/clamp.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "emit/body.h"
#include "emit/torch/dialect.h"

namespace onward::emit::torch {
namespace {

bool is(const Value* value, std::string_view op) {
  const Node* node = value ? value->producer() : nullptr;
  return node && node->domain.empty() && node->op == op;
}

/// A number without dimensions, which stretches nothing.
std::optional<double> scalar(const Value* value, const Known& known) {
  if (!value || !known.is_literal(value) || !known.find(value)->dims().empty()) return {};
  return known.find(value)->number(0);
}

/// One level, Where(x == limit, limit, rest).
struct Held {
  const Value* x;
  double limit;
  const Value* rest;
};

std::optional<Held> held_on_limit(const Node& node, const Known& known) {
  const auto limit = scalar(node.input(1), known);
  if (!limit || !is(node.input(0), "Equal")) return {};
  const Node& equal = *node.input(0)->producer();
  for (const size_t side : {0, 1}) {
    if (scalar(equal.input(1 - side), known) == limit) {
      return Held{equal.input(side), *limit, node.input(2)};
    }
  }
  return {};
}

}  // namespace

std::optional<Clamp> find_clamp(const Node& node, const Known& known) {
  if (!node.domain.empty() || node.op != "Where" || !is_float(node.output(0)->type.dtype)) {
    return {};
  }
  std::vector<double> held;
  const Value* x = nullptr;
  const Value* rest = node.output(0);
  while (is(rest, "Where") && held.size() < 2) {
    const auto level = held_on_limit(*rest->producer(), known);
    if (!level || (x && level->x != x)) return {};
    x = level->x;
    held.push_back(level->limit);
    rest = level->rest;
  }
  if (!is(rest, "Clip") || rest->producer()->input(0) != x) return {};
  const Node& clip = *rest->producer();
  const Clamp clamp{.x = x, .low = clip.input(1), .high = clip.input(2)};
  std::vector<double> limits;
  for (const Value* limit : {clamp.low, clamp.high}) {
    if (!limit) continue;
    const auto number = scalar(limit, known);
    if (!number) return {};
    limits.push_back(*number);
  }
  // Between limits that cross, torch.clamp still holds nothing.
  if (!std::ranges::is_sorted(limits)) return {};
  std::ranges::sort(held);
  if (held != limits) return {};
  return clamp;
}

std::optional<Idiom> idiom(const Node& node, const Known& known) {
  const auto clamp = find_clamp(node, known);
  if (!clamp) return {};
  const auto number = [&known](std::string_view name, const Value* limit) {
    return limit ? fmt::format(", {}={}", name, python_element(*known.find(limit), 0)) : "";
  };
  const std::string limits = number("min", clamp->low) + number("max", clamp->high);
  return Idiom{{clamp->x}, [x = clamp->x, limits](Body& body) {
                 return fmt::format("torch.clamp({}{})", body.tensor(x), limits);
               }};
}

}  // namespace onward::emit::torch
