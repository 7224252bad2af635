#pragma once

#include "passes/passes.h"

namespace onward {

/// What a step goes through before it is planned, in order: the passes that are good for any step,
/// and those that bring it into the forms that kernels are fastest at.
std::span<const Pass> plan_passes();
void run_plan_passes(Model& step, std::function<bool(const std::string&)> is_state);

/// Writes the standard's optimizer nodes as plain operators, which other passes and the runtime can
/// fuse. Needs no shapes.
void expand_optimizers(Model& step);

// The passes that only serve kernels, each in the file of its name.
void save_pool_taps(PassContext& c);
void save_probabilities(PassContext& c);
void save_statistics(PassContext& c);

}  // namespace onward
