#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace onward {

/// What is wrong with the structure of a graph: values that are read before they are computed, or
/// that belong to another graph; two values of one name; uses that do not match what nodes read.
/// Empty for every graph that a file is written from or that is run: a fault is a bug of whoever
/// changed the graph.
std::vector<std::string> structure_faults(const Graph& graph);

}  // namespace onward
