#include "ops/legalize.h"
#include "runtime/passes/plan_passes.h"

namespace onward {

void expand_optimizers(Model& step) {
  legalize(step, {.failure = "the optimizer cannot be written in plain operators",
                  .refuses = [](const Node& node) -> std::string {
                    const bool expands = node.domain == kTrainingDomain && has_expansion(node);
                    return expands ? "it is decomposed, to be fused" : "";
                  }});
}

}  // namespace onward
