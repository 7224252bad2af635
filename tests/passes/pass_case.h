#pragma once

// Graphs before and after a pass, in ONNX's text syntax.

#include <span>
#include <string>
#include <vector>

#include "passes/passes.h"

namespace onward {

struct PassCase {
  std::string name;
  void (*pass)(PassContext&);
  std::string before;  // "(float[2] x) => (y) { y = Neg(x) }"
  /// The same after the pass, without constants that nobody reads; empty where nothing changes.
  std::string after = {};
  std::vector<std::string> state = {};
  /// What the pass does depends on which of several nodes comes first.
  bool in_this_order = false;
};

// One function for each folder that has passes.
std::span<const PassCase> any_step_pass_cases();
std::span<const PassCase> plan_pass_cases();
std::span<const PassCase> lowering_pass_cases();

std::vector<PassCase> all_pass_cases();

/// A graph of the newest opset and of Onward's own operators, with types.
Model graph_of(const std::string& text);

/// Its nodes, its outputs and the constants that these read, line by line.
std::vector<std::string> lines_of(const Model& model);

/// The operators of its nodes, sorted.
std::vector<std::string> operators_of(const Model& model);

/// What is wrong with a step: its structure, and types that contradict an inference that begins
/// with inputs and initializers alone. (It may know less: not all that was known of shapes can be
/// seen in the graph that is left.)
std::vector<std::string> faults_of(const Model& step);

}  // namespace onward
