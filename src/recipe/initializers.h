#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/model.h"

namespace onward {

/// Whether it is a Constant node with a dense tensor.
bool is_constant_node(const Node& node);

/// The integers of a constant, also through nodes that give it another shape or join several;
/// nothing where it is none.
std::optional<std::vector<int64_t>> constant_integers(const Value* value);

/// Only dense top-level initializers can be bound: turns the Constant nodes and sparse initializers
/// among `values` into such, and gives the initializers.
std::vector<Value*> as_initializers(Graph& graph, const std::vector<Value*>& values);

/// Brings weights that stand inside of subgraphs (branches, bodies of loops) to the top: float
/// tensors whose role is a parameter's, or that one of `patterns` names. They keep their names
/// where no other value has them. Gives how many there were.
size_t lift_weights_of_subgraphs(Model& model, const std::vector<std::string>& patterns);

/// The same for the running statistics of BatchNormalization nodes.
void make_statistics_initializers(Graph& graph);

}  // namespace onward
