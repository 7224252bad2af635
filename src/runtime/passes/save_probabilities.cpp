// The softmax loss keeps probabilities for its backward where nobody else reads its log_prob: they
// are exponentials that it has at hand.

#include <algorithm>

#include "ops/builder.h"
#include "runtime/passes/fast_forms.h"
#include "runtime/passes/plan_passes.h"

namespace onward {
namespace {

bool can_keep_probabilities(const PassContext& c, const Node& loss) {
  if (!loss.domain.empty() || loss.op != "SoftmaxCrossEntropyLoss") return false;
  const Value* log_prob = loss.output(1);
  if (!log_prob || !refuses_class_loss(loss).empty()) return false;
  if (std::ranges::find(c.graph.outputs(), log_prob) != c.graph.outputs().end()) return false;
  return std::ranges::all_of(log_prob->uses(), [&](const Use& use) {
    return use.input == 1 && use.node->domain == kInternalDomain &&
           use.node->op == "SoftmaxCrossEntropyGrad" && refuses_class_loss(*use.node).empty();
  });
}

}  // namespace

void save_probabilities(PassContext& c) {
  for (const auto& owned : c.graph.nodes()) {
    Node& loss = *owned;
    if (!can_keep_probabilities(c, loss)) continue;
    loss.domain = kInternalDomain;
    for (const Use& use : loss.output(1)->uses()) {
      set_attribute(*use.node, "probabilities", int64_t{1});
    }
  }
}

}  // namespace onward
