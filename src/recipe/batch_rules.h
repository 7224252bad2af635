#pragma once

// What the rules for examples share, and those of batch_moves.cpp.

#include <cstdint>
#include <optional>
#include <vector>

#include "recipe/batch_axes.h"

namespace onward {

/// The rank of a value. Throws an Error where it is not known.
int64_t dimensions_of(const Value& value);
/// The examples of the first input, where no other one has or counts any.
ExampleAxis only_first(const BatchAxes& axes, const Node& node);
/// The attribute `axis`, from the front.
int64_t axis_from_front(const Node& node, int64_t fallback, int64_t rank);
/// Axes in an attribute or an input, from the front; nothing where there are none.
std::optional<std::vector<int64_t>> axes_from_front(const Node& node, size_t input, int64_t rank);
/// Throws an Error where a node works along the dimension of examples.
void require_other_axis(int64_t axis, const ExampleAxis& examples);
/// Whether the first input has sizes, which its output gets then: they stay a vector here, whatever
/// rank they are given.
bool passes_sizes(BatchAxes& axes, const Node& node);

// Nodes that only move elements, or work with sizes.
void transpose_examples(BatchAxes& axes, Node& node);
void unsqueeze_examples(BatchAxes& axes, Node& node);
void squeeze_examples(BatchAxes& axes, Node& node);
void concat_examples(BatchAxes& axes, Node& node);
void split_examples(BatchAxes& axes, Node& node);
void slice_examples(BatchAxes& axes, Node& node);
void gather_examples(BatchAxes& axes, Node& node);
void shape_examples(BatchAxes& axes, Node& node);
void constant_of_shape_examples(BatchAxes& axes, Node& node);
void expand_examples(BatchAxes& axes, Node& node);
void tile_examples(BatchAxes& axes, Node& node);
void pad_examples(BatchAxes& axes, Node& node);
void cast_like_examples(BatchAxes& axes, Node& node);

}  // namespace onward
