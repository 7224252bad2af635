#pragma once

#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

/// What an initializer is in the training that a file describes.
enum class Role : uint8_t {
  parameter,  // state that is trained: its update uses a gradient with respect to it
  state,      // written by a binding, but not trained: step counts, optimizer slots, statistics
  constant,   // written by no binding
};

struct InitializerRole {
  const Value* value;
  Role role;
  std::string reason;
};

/// The role of every top-level initializer, of the inference graph and of each algorithm, in file
/// order. Decided by the file's bindings and Gradient nodes alone; for a model without training
/// infos all are constants.
std::vector<InitializerRole> initializer_roles(const Model& model);

}  // namespace onward
