#pragma once

#include <optional>
#include <vector>

#include "infer/partial_tensor.h"
#include "ir/model.h"
#include "ir/problems.h"

namespace onward {

class KnownData;

/// What is found out about one output of a node.
struct InferredOutput {
  Type type;
  std::optional<PartialTensor> elements = {};  // where the output is a small tensor of integers
};

/// Finds out about the outputs of a node, in order; empty for an operator that it does not know.
/// Throws Error where the inputs do not fit together.
using ForeignRule = std::vector<InferredOutput> (*)(const Node&, const KnownData&);

struct InferOptions {
  ForeignRule foreign = nullptr;  // asked about operators that the standard does not know
};

/// Completes the types of all values of a model, node by node through the standard's own inference
/// rules. What does not fit (a rule that refuses, a result that contradicts the declared type) is
/// added to `problems`, and the walk goes on with what is known. Training infos included: an
/// algorithm sees the values of the inference graph.
void infer_types(Model& model, Problems& problems, const InferOptions& options = {});

/// The type with the ranks of all its tensors unknown.
Type without_shapes(Type type);

}  // namespace onward
