#pragma once

#include <onnx/defs/schema.h>

#include <optional>

#include "infer/propagate.h"
#include "ir/graph.h"
#include "ir/refusal.h"

namespace onward {

/// Finds what the standard's inference rules do not survive or do not notice: numbers of inputs and
/// outputs, attributes that are missing, of the wrong type or out of range, shapes that do not fit
/// them. The rules were written for well-formed nodes, so they run only where this finds nothing.
std::optional<Refusal> guard(const Node& node, const onnx::OpSchema& schema,
                             const KnownData& known);

}  // namespace onward
