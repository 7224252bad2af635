#include "emit/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "onward/error.h"

namespace onward::emit {
namespace {

std::vector<int64_t> list_or(const Node& node, std::string_view name, size_t count,
                             int64_t fallback) {
  const auto* given = node.get<std::vector<int64_t>>(name);
  std::vector<int64_t> list = given ? *given : std::vector<int64_t>(count, fallback);
  if (list.size() != count) {
    throw Error(fmt::format("{} has {} entries, but {} are needed", name, list.size(), count));
  }
  return list;
}

/// The pads that make as many windows as it takes to cover the input; nothing where its size
/// matters and is not known.
std::optional<std::vector<int64_t>> covering_pads(const WindowFacts& facts, const Value* x) {
  const size_t rank = facts.rank();
  std::vector<int64_t> pads(2 * rank);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t reach = (facts.kernel[d] - 1) * facts.dilations[d] + 1;
    int64_t total = reach - 1;
    if (facts.strides[d] != 1) {
      if (!x->type.shape || !(*x->type.shape)[d + 2].value) return std::nullopt;
      const int64_t size = *(*x->type.shape)[d + 2].value;
      const int64_t outputs = (size + facts.strides[d] - 1) / facts.strides[d];
      total = std::max<int64_t>(0, (outputs - 1) * facts.strides[d] + reach - size);
    }
    const bool odd_one_before = facts.same == WindowFacts::Same::lower;
    pads[d] = odd_one_before ? total - total / 2 : total / 2;
    pads[d + rank] = total - pads[d];
  }
  return pads;
}

}  // namespace

bool WindowFacts::has_dilations() const {
  return std::any_of(dilations.begin(), dilations.end(), [](int64_t d) { return d != 1; });
}

bool WindowFacts::has_pads() const {
  return !pads || std::any_of(pads->begin(), pads->end(), [](int64_t p) { return p != 0; });
}

bool WindowFacts::pads_are_symmetric() const {
  if (!pads) return false;
  for (size_t d = 0; d < rank(); ++d) {
    if (before(d) != after(d)) return false;
  }
  return true;
}

WindowFacts window_facts(const Node& node, const std::vector<int64_t>& kernel) {
  WindowFacts facts;
  const auto* shape = node.get<std::vector<int64_t>>("kernel_shape");
  facts.kernel = shape ? *shape : kernel;
  const size_t rank = facts.kernel.size();
  facts.strides = list_or(node, "strides", rank, 1);
  facts.dilations = list_or(node, "dilations", rank, 1);
  facts.ceil = node.int_or("ceil_mode", 0) != 0;
  const Value* x = node.input(0);
  if (x->type.shape && x->type.shape->size() != rank + 2) {
    throw Error(fmt::format("a kernel of {} dimensions does not fit {}", rank, to_string(x->type)));
  }
  const std::string auto_pad = node.string_or("auto_pad", "NOTSET");
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    facts.same = auto_pad == "SAME_UPPER" ? WindowFacts::Same::upper : WindowFacts::Same::lower;
    facts.pads = covering_pads(facts, x);
  } else if (auto_pad == "VALID") {
    facts.pads = std::vector<int64_t>(2 * rank, 0);
  } else {
    facts.pads = list_or(node, "pads", 2 * rank, 0);
  }
  return facts;
}

}  // namespace onward::emit
