#pragma once

#include <memory>

#include "runtime/plan.h"
#include "runtime/planned_subgraphs.h"
#include "runtime/state.h"

namespace onward {

class Program;

/// How a plan goes on that ends where shapes depend on data.
struct Continuation {
  Model dynamic;  // run node by node when the plan has run
  std::unique_ptr<Program> program;
  InputLayouts layouts;  // of what the two are given
  PlannedSubgraphs subgraphs;
  /// What the program is given: what crossed, and inputs of the step.
  TensorMap inputs;

  Continuation(Model dynamic_nodes, std::unique_ptr<Program> rest, InputLayouts given);
  ~Continuation();

  /// Runs the dynamic nodes, and adds what they give to `inputs`, which have what they read but for
  /// state and constants.
  void run_dynamic(const State& state, const eval::RandomKey& random);
};

/// A tensor as the standard has it, whatever layout its bytes are in.
Tensor to_plain(const Tensor& tensor, Layout layout);

}  // namespace onward
