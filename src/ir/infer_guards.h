#pragma once

#include <onnx/defs/schema.h>

#include <optional>
#include <string>

#include "ir/graph.h"
#include "ir/propagate.h"

namespace onward {

/// Why a node can't be what it says: the fields of the Problem that will tell so.
struct Refusal {
  std::string rule;    // "arity", "attribute", "shape", "type" or "inference"
  std::string tensor;  // the value concerned; may be empty
  std::string message;
};

/// Finds what the standard's inference rules do not survive or do not notice: numbers of inputs and
/// outputs, attributes that are missing, of the wrong type or out of range, shapes that do not fit
/// them. The rules were written for well-formed nodes, so they run only where this finds nothing.
std::optional<Refusal> guard(const Node& node, const onnx::OpSchema& schema,
                             const KnownData& known);

}  // namespace onward
