#include "ops/infer_step.h"

#include "ops/op_def.h"

namespace onward {
namespace {

std::vector<InferredOutput> internal_outputs(const Node& node, const KnownData& known) {
  const OpDef* definition = find_op_def(node);
  return definition && definition->types ? definition->types(node, known)
                                         : std::vector<InferredOutput>();
}

}  // namespace

void infer_step_types(Model& step) {
  Problems problems;
  infer_types(step, problems, {.foreign = internal_outputs});
  problems.throw_if_errors();
}

}  // namespace onward
