#include "passes/passes.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/verify.h"
#include "onward/error.h"

namespace onward {
namespace {

constexpr Pass kStepPasses[] = {
    {"fold-constants", fold_constants},    // the shapes that rules compute with become numbers
    {"simplify", simplify},                // sums and expands that turned out to do nothing
    {"share-subgraphs", share_subgraphs},  // what rules asked for twice
    {"fuse-transposes", fuse_transposes},  // into the products that read them
    {"save-pool-taps", save_pool_taps},    // pooling and its backward, chosen together
    {"save-probabilities", save_probabilities},  // the softmax loss and its backward
    {"save-statistics", save_statistics},        // normalization, its backward, and a Relu between
    {"drop-dead-nodes", drop_dead_nodes},        // gradients nobody asked for
};

}  // namespace

const Tensor* PassContext::constant(const Value* value) const {
  if (!value || value->producer() || value->is_input() || is_state(value->name())) return nullptr;
  return value->tensor();
}

std::optional<std::vector<int64_t>> static_dims(const Value& value) {
  if (!value.type.is_tensor() || !value.type.shape) return std::nullopt;
  std::vector<int64_t> dims;
  for (const Dim& dim : *value.type.shape) {
    if (!dim.value) return std::nullopt;
    dims.push_back(*dim.value);
  }
  return dims;
}

std::optional<double> uniform_number(const Tensor* constant) {
  constexpr int64_t kMaxLookedAt = 4096;
  if (!constant || constant->size() == 0 || constant->size() > kMaxLookedAt) return std::nullopt;
  if (constant->dtype() == DType::string || is_complex(constant->dtype())) return std::nullopt;
  const double first = constant->number(0);
  for (int64_t i = 1; i < constant->size(); ++i) {
    if (constant->number(i) != first) return std::nullopt;
  }
  return first;
}

void run_passes(std::span<const Pass> passes, PassContext& c) {
  for (const Pass& pass : passes) {
    pass.run(c);
    const std::vector<std::string> faults = structure_faults(c.graph);
    if (faults.empty()) continue;
    throw Bug(fmt::format("the pass '{}' broke the graph: {}", pass.name, fmt::join(faults, "; ")));
  }
}

std::span<const Pass> step_passes() { return kStepPasses; }

void run_step_passes(Model& step, std::function<bool(const std::string&)> is_state) {
  PassContext context(step, std::move(is_state));
  run_passes(step_passes(), context);
}

}  // namespace onward
