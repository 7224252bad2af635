#pragma once

#include <span>
#include <vector>

#include "ir/dependence.h"
#include "ops/builder.h"

namespace onward {

/// What a backward walk starts from and ends at.
struct BackwardRequest {
  std::vector<Value*> ys, dys;  // of the same types
  std::vector<Value*> xs;
  /// Values that do not change with xs, whatever they are computed from; xs do not either.
  std::vector<Value*> fixed = {};
};

/// The gradients of sum(ys * dys) with respect to each of xs; null where none reaches it. Nodes are
/// added through `builder`; those that compute ys from xs stand before its place. `xs` may be
/// values of a graph around the builder's. Throws an Error that names every operator on the way
/// that has no gradient.
std::vector<Value*> backward(const BackwardRequest& request, Builder& builder);

/// The nodes before `before` that are computed from `values`, in order; their outputs join
/// `values`, but for those that are fixed.
std::vector<Node*> dependent_nodes(const Graph& graph, const Node* before, ValueSet& values,
                                   const ValueSet& fixed);

}  // namespace onward
