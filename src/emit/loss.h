#pragma once

#include <string>

#include "emit/job.h"

namespace onward::emit {

struct LossText {
  std::string definition;  // source of a function; empty where the framework has the loss
  std::string expression;  // what load() returns: "nn.CrossEntropyLoss()"
};

/// The job's loss. Functions of ours that it needs are added to `helpers`.
LossText torch_loss(const Job& job, std::set<std::string>& helpers);
LossText keras_loss(const Job& job, std::set<std::string>& helpers);

}  // namespace onward::emit
