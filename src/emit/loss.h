#pragma once

#include <string>
#include <vector>

#include "emit/job.h"

namespace onward::emit {

struct LossText {
  std::string definition;  // source of a function; empty where the framework has the loss
  std::string expression;  // what load() returns: "nn.CrossEntropyLoss()"
};

/// The loss's nodes as a function of what it reads.
struct LossFunction {
  std::vector<std::string> predictions, labels;  // its arguments
  std::vector<std::string> lines;
  std::string result;
};

/// Writes the nodes of the loss. `label_cast` is a pattern for labels of integers, which Keras
/// hands over as floats: "ops.cast({}, {})"; empty where they come as they are. What the function
/// needs is added to the context. Throws Error that names everything that cannot be expressed.
LossFunction write_loss(const Job& job, SourceContext& context, std::string_view label_cast = "");

}  // namespace onward::emit
