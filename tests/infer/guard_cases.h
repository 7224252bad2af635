#pragma once

#include <span>
#include <string>

#include "ir/model.h"

namespace onward {

/// A node that a guard refuses.
struct GuardCase {
  const char* name;
  int opset;
  const char* graph;
  const char* rule;
  const char* message;
};

/// The nearest neighbour of such nodes that is right.
struct RightNode {
  int opset;
  const char* graph;
  const char* type = nullptr;  // of y, where it matters
};

/// A graph as text. Its results need no types.
Model model_of(int opset, const std::string& graph);

void expect_refusals(std::span<const GuardCase> cases);
void expect_right(std::span<const RightNode> nodes);

}  // namespace onward
