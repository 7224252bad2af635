#pragma once

// The optimizer of a job in a framework's words: its own, or a class of ours with the formula of
// another one.

#include <string>
#include <vector>

#include "emit/job.h"

namespace onward::emit {

struct OptimizerText {
  std::string definition;   // source of the update function and class; empty where it is built in
  std::string constructor;  // "torch.optim.Adam({parameters}, lr={rate}, betas=(0.9, 0.999))"
  /// The framework's names of the slots, in the order of the job's.
  std::vector<std::string> slots;
  std::string slot_variables;   // Keras: an expression for those of each parameter, in that order
  std::string class_name = {};  // of a class of ours
  bool is_built_in = false;
  bool lists_slots = true;          // the source names slots in a constant, SLOTS
  bool only_on_tensorflow = false;  // Keras's own, whose numbers TensorFlow rounds
};

/// The arguments of the framework's own class, but for the learning rate: ", betas=(0.9, 0.999)".
std::string class_arguments(const OptimizerSettings& settings);

/// One update of one parameter as a Python function, from the nodes of the step:
///   def update(x, g, exp_avg, exp_avg_sq, lr, t): ... return new_x, new_exp_avg, new_exp_avg_sq
std::string update_function(const Job& job, const Dialect& dialect);

/// "TorchAdam": a class with that formula.
std::string optimizer_class_name(const OptimizerSettings& settings);

}  // namespace onward::emit
