#pragma once

// What the models of ai.onnx.ml share: features, the scores that are made of them, and the labels
// that scores decide on. Results are float32, whatever is computed in.

#include <optional>
#include <vector>

#include "ops/op_def.h"

namespace onward {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

using Floats = std::vector<float>;

/// A list of floats that must be there.
const Floats& list_of(const Node& node, const char* name);

/// float64 stays that until the result is rounded; all else is computed in float32.
Expr as_features(Expr x);
/// Constants in the type that is computed in.
Expr constant_floats(Expr like, std::vector<int64_t> dims, const Floats& numbers);
Expr constant_vector(Expr like, const Floats& numbers);

/// The size of the last dimension, where it is known.
std::optional<int64_t> feature_count(const ExpandContext& c);
/// Refuses a list that has neither one number for all features, nor one for each.
void require_features(const ExpandContext& c, const char* name, size_t given);

/// The largest element of each row, with its dimension kept.
Expr largest_of_row(Expr x);

/// x times the rows of a matrix of coefficients, of which there are `rows`.
Expr linear_scores(const ExpandContext& c, Expr x, int64_t rows, const Floats& coefficients);
/// Refuses an input that is known to be no matrix.
void require_matrix(const ExpandContext& c);
/// A column and its opposite before it.
Expr with_opposite(Expr z);
/// What the node's post_transform makes of scores.
Expr transformed(const ExpandContext& c, Expr z);

/// The labels of a classifier: the integers of that attribute, or strings.
Tensor class_labels(const Node& node, const char* ints);
/// The index of the first of the largest elements in each row of `count`.
Expr first_largest(Expr z, int64_t count);
Expr label_at(Expr index, const Tensor& labels);

}  // namespace onward
