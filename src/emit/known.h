#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"

namespace onward::emit {

/// The values of a graph that are the same at every run: constants, and what is computed from them
/// or from the sizes of tensors as long as it is small (shapes, axes, indices, single numbers).
/// State is never among them, nor are masks that follow from weights.
class Known {
 public:
  Known(const Graph& graph, const std::unordered_set<const Value*>& state);

  /// The tensor, or null where it is not known.
  const Tensor* find(const Value* value) const;

  /// True where a value is so plain that the source says the number itself: a single one that is
  /// no initializer of the file with dimensions, which would rather be a parameter.
  bool is_literal(const Value* value) const;

  /// The integers of a known value, or nothing.
  std::optional<std::vector<int64_t>> integers(const Value* value) const;

 private:
  void add(const Graph& graph, const std::unordered_set<const Value*>& state);

  std::unordered_map<const Value*, Tensor> tensors_;
};

/// The result of a Shape that gives no open size; nothing for other nodes.
std::optional<Tensor> known_shape(const Node& node);

}  // namespace onward::emit
