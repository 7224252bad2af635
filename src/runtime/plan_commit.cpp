// What is known of a commit before it runs: where its operands lie.

#include <cmath>
#include <memory>

#include "ops/op_def.h"
#include "runtime/plan_builder.h"

namespace onward {

/// A product whose factors are much smaller than the gradient that it gives.
struct PlanBuilder::Factors {
  const Value *a, *b;
  double terms;  // that add up to an element
};

namespace {

RangeRule range_rule(const Node& node) {
  const OpDef* definition = find_op_def(node);
  return definition ? definition->range : nullptr;
}

double magnitude(const Range& range) {
  return std::max(std::fabs(range.low), std::fabs(range.high));
}

}  // namespace

/// The gradient of a layer's weights is a product of two thin matrices: looking at these is
/// quicker.
std::optional<PlanBuilder::Factors> PlanBuilder::small_factors(const Value& gradient) {
  const Node* node = gradient.producer();
  if (!node || !node->domain.empty() || (node->op != "Gemm" && node->op != "MatMul") ||
      node->input(2)) {
    return std::nullopt;
  }
  const auto a = *static_dims(*node->input(0)), b = *static_dims(*node->input(1)),
             y = *static_dims(gradient);
  if (a.size() != 2 || b.size() != 2 || y.size() != 2 || y[0] == 0) return std::nullopt;
  const auto elements = checked_element_count(y);
  const auto elements_of_a = checked_element_count(a);
  if (2 * (elements_of_a + checked_element_count(b)) > elements) return std::nullopt;
  const double scale = std::fabs(node->float_or("alpha", 1));
  return Factors{.a = node->input(0),
                 .b = node->input(1),
                 .terms = scale * static_cast<double>(elements_of_a) / static_cast<double>(y[0])};
}

/// Looks at each gradient while it is in the cache.
void PlanBuilder::scan_gradients() {
  plan_.gradient_ranges.resize(request_.gradients.size(), -1);
  for (size_t g = 0; g < request_.gradients.size(); ++g) {
    const Value& gradient = *graph_.outputs()[request_.gradients[g]];
    const bool is_known = !gradient.producer() || slots_.contains({&gradient, Layout::plain}) ||
                          slots_.contains({&gradient, Layout::channels_last});
    SlotIndex& result = plan_.gradient_ranges[g];
    if (!is_known || result >= 0) continue;
    result = scratch(sizeof(FoundRange));
    if (const auto factors = small_factors(gradient)) {
      scan_factors(*factors, gradient, result);
    } else {
      scan(gradient, result);
    }
  }
}

void PlanBuilder::scan(const Value& value, SlotIndex result) {
  const SlotIndex slot = read(value, Layout::plain);
  const SlotInfo& info = plan_.slots[static_cast<size_t>(slot)];
  add({.label = value.name(),
       .kernel = "scan",
       .reads = {slot},
       .writes = {result},
       .run = [slot, result, dtype = info.dtype, dims = info.dims](const Run& run) {
         std::construct_at(run.at<FoundRange>(result),
                           find_range(dtype, dims, run.at<std::byte>(slot)));
       }});
}

/// No sum of `terms` products is larger than as many times the largest product.
void PlanBuilder::scan_factors(const Factors& factors, const Value& gradient, SlotIndex result) {
  const SlotIndex a = read(*factors.a, Layout::plain), b = read(*factors.b, Layout::plain);
  const SlotInfo a_info = plan_.slots[static_cast<size_t>(a)];
  const SlotInfo b_info = plan_.slots[static_cast<size_t>(b)];
  add({.label = gradient.name(),
       .kernel = "scan of factors",
       .reads = {a, b},
       .writes = {result},
       .run = [=, most = factors.terms](const Run& run) {
         const auto of_a = find_range(a_info.dtype, a_info.dims, run.at<std::byte>(a));
         const auto of_b = find_range(b_info.dtype, b_info.dims, run.at<std::byte>(b));
         FoundRange range;
         if (of_a && of_b) {
           const double bound = most * magnitude(*of_a) * magnitude(*of_b);
           if (std::isfinite(bound)) range = Range{-bound, bound};
         }
         std::construct_at(run.at<FoundRange>(result), range);
       }});
}

/// What the commit computes with, and what it makes of it.
void PlanBuilder::find_operands() {
  using Kind = Plan::Operand::Kind;
  std::unordered_map<const Value*, size_t> gradients;
  for (size_t g = 0; g < request_.gradients.size(); ++g) {
    gradients.emplace(graph_.outputs()[request_.gradients[g]], g);
  }
  const std::span<const Node* const> commit = std::span(order_).subspan(commit_begin_);
  std::unordered_map<const Value*, size_t> places;  // operands first, then results
  std::unordered_map<std::string, size_t> states;
  for (const Node* node : commit) {
    for (const Value* input : node->inputs()) {
      if (!input || (input->producer() && position_.at(input->producer()) >= commit_begin_))
        continue;
      if (!places.emplace(input, plan_.operands.size()).second) continue;
      if (const auto found = gradients.find(input); found != gradients.end()) {
        plan_.operands.push_back({.kind = Kind::gradient,
                                  .slot = read(*input, Layout::plain),
                                  .gradient = found->second});
        continue;
      }
      if (is_state(*input)) states.emplace(input->name(), plan_.operands.size());
      plan_.operands.push_back({.kind = is_state(*input) ? Kind::state : Kind::other,
                                .slot = read(*input, Layout::plain)});
    }
  }
  plan_.bounds.operands = plan_.operands.size();
  for (const Node* node : commit) {
    const Value& output = *node->output(0);
    CommitBounds::Result result{.rule = range_rule(*node), .dtype = output.type.dtype};
    for (const Value* input : node->inputs()) {
      if (input) result.operands.push_back(places.at(input));
    }
    places.emplace(&output, plan_.bounds.operands + plan_.bounds.results.size());
    plan_.bounds.results.push_back(std::move(result));
  }
  for (const auto& binding : request_.bindings) {
    const auto source = places.find(graph_.outputs()[binding.output]);
    const auto target = states.find(binding.target);
    if (source == places.end() || target == states.end()) continue;
    if (source->second < plan_.bounds.operands) continue;
    plan_.operands[target->second].update = source->second - plan_.bounds.operands;
  }
}

}  // namespace onward
