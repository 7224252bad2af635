#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/model.h"

namespace onward {

/// The dimension of a value in which the examples of a batch are: `each` places for one, those of
/// the first example first.
struct ExampleAxis {
  int64_t axis = 0;
  int64_t each = 1;

  friend bool operator==(const ExampleAxis&, const ExampleAxis&) = default;
};

/// An element of a vector of sizes: a number, or so many times the number of examples.
struct BatchSize {
  int64_t number = 0;
  bool times_batch = false;
};

/// A node's constant of sizes that has the batch size in it, as it is to be instead.
struct SizesEdit {
  Node* node;
  size_t input;
  std::vector<int64_t> sizes;
};

/// Follows the examples of a batch through a graph that is written for `batch` of them, to see
/// whether any other number gives each example the results that it has alone. Types are inferred.
class BatchAxes {
 public:
  explicit BatchAxes(int64_t batch) : batch_(batch) {}

  /// Values that are known to have examples: the inputs.
  void set(const Value* value, ExampleAxis axis) { axes_[value] = axis; }

  /// Goes through all nodes. Throws an Error that names the first one that has to be told of the
  /// batch size, or of which nobody says what it does with a batch.
  void follow(const Graph& graph);

  const std::unordered_map<const Value*, ExampleAxis>& axes() const { return axes_; }
  const std::vector<SizesEdit>& edits() const { return edits_; }

  // For the rules of operators, which throw an Error with a reason.

  int64_t batch() const { return batch_; }
  std::optional<ExampleAxis> of(const Value* value) const;
  /// Neither has examples nor counts them.
  bool is_independent(const Value* value) const;
  /// The sizes in a value, constant or computed from shapes; nothing where they are not known.
  std::optional<std::vector<BatchSize>> sizes_of(const Value* value) const;
  void set_sizes(const Value* value, std::vector<BatchSize> sizes);
  void edit(SizesEdit edit) { edits_.push_back(std::move(edit)); }
  /// An output has examples; others of the node that are read are refused.
  void set_output(const Node& node, ExampleAxis axis);

 private:
  void follow(const Node& node);

  int64_t batch_;
  std::unordered_map<const Value*, ExampleAxis> axes_;
  std::unordered_map<const Value*, std::vector<BatchSize>> sizes_;
  std::vector<SizesEdit> edits_;
};

/// What an operator does with the examples in its inputs, of which at least one has some or counts
/// them.
using BatchRule = void (*)(BatchAxes& axes, Node& node);

/// Null where the operator is not known to leave examples apart.
BatchRule batch_rule(const Node& node);

// Of batch_reshape.cpp: nodes that give the same elements another shape.
void reshape_examples(BatchAxes& axes, Node& node);
void flatten_examples(BatchAxes& axes, Node& node);

/// The dimensions of a value, all of them numbers. Throws an Error where one is not.
std::vector<int64_t> known_dims(const Value& value);

}  // namespace onward
