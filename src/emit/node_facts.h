#pragma once

// What the emitters of several dialects ask of a node.

#include <optional>
#include <string>
#include <vector>

#include "emit/call.h"

namespace onward::emit {

bool is_whole(DType dtype);  // an integer or a truth value

/// Which axes a reduction runs over.
struct ReducedAxes {
  bool none = false;  // it gives its input
  bool all = false;
  std::string text;  // "1", "(1, 2)", or an expression
};

ReducedAxes reduced_axes(const Call& c);

/// Throws Error for a mean of integers.
void refuse_integers(const Call& c);

/// The first axis that a LayerNormalization runs over.
int64_t first_axis(const Call& c);

/// Whether the model says how large these dimensions of the first input are.
bool are_declared(const Call& c, std::span<const int64_t> axes);

/// The axes of an Unsqueeze in the order in which they can be added one by one; nothing where the
/// rank is needed and not known.
std::optional<std::vector<int64_t>> added_axes(const Call& c);

/// "[:2]", "[1:-1]": the part of a shape that a Shape node gives; empty for all of it.
std::string shape_part(const Call& c);

/// The sizes of a Reshape that the model fixes, "2, 3" or "4,"; `size_pattern` is how the source
/// asks x for one: "{}.shape[{}]".
std::string reshape_sizes(const Call& c, const std::vector<int64_t>& shape,
                          std::string_view size_pattern);

/// Whether a dimension of the first input and of the result are said to be the same.
bool keeps_size(const Call& c, size_t axis);

/// The sizes of a Reshape that those of tensors make; nothing where they are found otherwise. Where
/// a zero stands for a size of x, one that turns out to be zero must be that size anyway.
std::optional<std::vector<std::string>> sizes_of_reshape(const Call& c);

/// The number up to which a Range counts from 0; others may be empty where frameworks refuse them.
/// Throws Error for those.
std::string counted_size(const Call& c);

/// The element that a ConstantOfShape repeats.
std::string repeated_element(const Call& c);

/// The pads before and after each dimension where the model fixes them all.
struct Pads {
  std::vector<int64_t> before, after;
};

std::optional<Pads> known_pads(const Call& c);

/// A constant Pad whose value is a number.
bool is_plain_pad(const Call& c);

/// "1:3, :, ::2" where the model fixes all of it and all steps are positive: Python's rules for
/// slices are then the standard's.
std::optional<std::string> subscript(const Call& c);

/// The lengths of a Split where they are known: given, or from the size of the dimension.
std::optional<std::vector<int64_t>> split_lengths(const Call& c);

/// Ratio and training mode of a Dropout, as Python.
struct DropoutFacts {
  std::string ratio = "0.5";
  std::string training = "False";
};

DropoutFacts dropout_facts(const Call& c);

/// Whether a BatchNormalization computes statistics; throws Error where it gives some without.
bool in_training(const Call& c);

}  // namespace onward::emit
