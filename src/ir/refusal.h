#pragma once

#include <string>

namespace onward {

/// Why a node can't be what it says: the fields of the Problem that will tell so.
struct Refusal {
  std::string rule;    // "arity", "attribute", "shape", "type" or "inference"
  std::string tensor;  // the value concerned; may be empty
  std::string message;
};

}  // namespace onward
