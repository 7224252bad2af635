#pragma once

#include "ir/model.h"

namespace onward {

/// Whether it is a Constant node with a dense tensor.
bool is_constant_node(const Node& node);

/// Only dense top-level initializers can be bound: turns the Constant nodes and sparse initializers
/// among `values` into such, and gives the initializers.
std::vector<Value*> as_initializers(Graph& graph, const std::vector<Value*>& values);

/// The same for the running statistics of BatchNormalization nodes.
void make_statistics_initializers(Graph& graph);

}  // namespace onward
