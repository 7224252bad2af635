#include "recipe/batch_axes.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/dependence.h"
#include "ir/rewrite.h"
#include "onward/error.h"
#include "recipe/initializers.h"

namespace onward {

void BatchAxes::follow(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    const std::vector<Value*> reads = all_reads(*node);
    const bool is_free =
        std::ranges::all_of(reads, [&](const Value* read) { return is_independent(read); });
    const bool has_sizes =
        std::ranges::any_of(reads, [&](const Value* read) { return sizes_.contains(read); });
    if (is_free && !has_sizes) continue;
    try {
      const BatchRule rule = batch_rule(*node);
      if (!rule) throw Error("it is not known to treat examples apart");
      rule(*this, *node);
    } catch (const Error& error) {
      if (is_free)
        continue;  // of sizes without the batch nobody needs to know what becomes of them
      throw Error(fmt::format("{} '{}': {}", node->op, node->label(), error.what()));
    }
  }
}

std::optional<ExampleAxis> BatchAxes::of(const Value* value) const {
  const auto found = axes_.find(value);
  return found == axes_.end() ? std::nullopt : std::optional(found->second);
}

bool BatchAxes::is_independent(const Value* value) const {
  if (axes_.contains(value)) return false;
  const auto sizes = sizes_.find(value);
  return sizes == sizes_.end() || std::ranges::none_of(sizes->second, &BatchSize::times_batch);
}

std::optional<std::vector<BatchSize>> BatchAxes::sizes_of(const Value* value) const {
  const auto found = sizes_.find(value);
  if (found != sizes_.end()) return found->second;
  const auto numbers = constant_integers(value);
  if (!numbers) return std::nullopt;
  std::vector<BatchSize> sizes;
  for (const int64_t number : *numbers) sizes.push_back({.number = number});
  return sizes;
}

void BatchAxes::set_sizes(const Value* value, std::vector<BatchSize> sizes) {
  sizes_[value] = std::move(sizes);
}

void BatchAxes::set_output(const Node& node, ExampleAxis axis) {
  for (size_t i = 1; i < node.outputs().size(); ++i) {
    if (node.output(i) && is_needed(*node.output(i))) {
      throw Error(fmt::format("its output '{}' may count examples", node.output(i)->name()));
    }
  }
  const Type& type = node.output(0)->type;
  const auto at = static_cast<size_t>(axis.axis);
  const bool has_axis = type.is_tensor() && type.shape && at < type.shape->size();
  if (!has_axis || (*type.shape)[at].value != batch_ * axis.each) {
    throw Error(fmt::format("'{}' is {}, without the batch in dimension {}", node.output(0)->name(),
                            to_string(type), axis.axis));
  }
  axes_[node.output(0)] = axis;
}

std::vector<int64_t> known_dims(const Value& value) {
  std::vector<int64_t> dims;
  const bool has_shape = value.type.is_tensor() && value.type.shape;
  for (const Dim& dim : has_shape ? *value.type.shape : Shape{}) {
    if (dim.value) dims.push_back(*dim.value);
  }
  if (!has_shape || dims.size() != value.type.shape->size()) {
    throw Error(
        fmt::format("the shape of '{}' {} is not known", value.name(), to_string(value.type)));
  }
  return dims;
}

}  // namespace onward
