#include "ops/legalize.h"
#include "passes/passes.h"

namespace onward {

void expand_optimizers(Model& step) {
  legalize(step, {.name = "a step", .refuses = [](const Node& node) -> std::string {
                    const bool expands = node.domain == kTrainingDomain && has_expansion(node);
                    return expands ? "it is written out, to be fused" : "";
                  }});
}

}  // namespace onward
