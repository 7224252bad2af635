#include "runtime/passes/plan_passes.h"

namespace onward {
namespace {

constexpr Pass kPlanPasses[] = {
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

std::span<const Pass> plan_passes() { return kPlanPasses; }

void run_plan_passes(Model& step, std::function<bool(const std::string&)> is_state) {
  PassContext context(step, std::move(is_state));
  run_passes(plan_passes(), context);
}

}  // namespace onward
