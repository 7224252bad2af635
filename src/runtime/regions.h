#pragma once

#include <optional>

#include "ir/model.h"

namespace onward {

/// A step in which some shapes depend on data, cut into three graphs that run one after the other.
/// Values that cross from one to the next keep their names: they are outputs there and inputs here.
struct Regions {
  Model planned;  // all of whose shapes are known
  Model dynamic;  // whose nodes run one by one: their results show what shapes they have
  Model rest;     // what follows from those; has the step's outputs, in order
};

/// Whether a plan can hold all values of the graph: tensors of known shapes, whole bytes, and no
/// graphs inside.
bool can_be_planned(const Graph& graph);

/// Cuts a step that can't be planned. Nothing where a value that is no tensor would cross.
std::optional<Regions> cut_into_regions(const Model& step);

}  // namespace onward
