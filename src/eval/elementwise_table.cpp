#include "eval/elementwise_table.h"

#include <algorithm>

#include "ir/graph.h"

namespace onward::elementwise {
namespace {

constexpr auto kFacts =
    std::apply([](const auto&... rows) { return std::array{rows.facts...}; }, kTable);

bool is_of(const Facts& facts, const Node& node) {
  if (facts.op != node.op) return false;
  return facts.form.attribute.empty() ||
         node.string_or(facts.form.attribute, "") == facts.form.value;
}

}  // namespace

std::span<const Facts> all_facts() { return kFacts; }

const Facts* find_facts(const Node& node) {
  if (!node.domain.empty()) return nullptr;
  const auto found =
      std::ranges::find_if(kFacts, [&](const Facts& facts) { return is_of(facts, node); });
  return found == kFacts.end() ? nullptr : &*found;
}

const Facts* find_facts(std::string_view op) {
  const auto found = std::ranges::find(kFacts, op, &Facts::op);
  return found == kFacts.end() ? nullptr : &*found;
}

Attributes Facts::attributes_of(const Node& node) const {
  Attributes values{};
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (attributes[i].name.empty()) break;
    values[i] = static_cast<double>(node.float_or(attributes[i].name, attributes[i].fallback));
  }
  return values;
}

}  // namespace onward::elementwise
