#pragma once

// Weights that a framework cuts and orders in its own way: gates in another order, a tensor for
// each direction, both biases in one. Each tensor there holds elements of one of the model's, in
// blocks; what leads from one to the other is found by following elements through the graph.

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace onward::emit {

/// Places `begin` to `begin + count` of one dimension of the framework's tensor: the element at an
/// index, counted from the block's first one, is the model's at `offset` + sum of index * stride.
struct Block {
  int64_t begin, count, offset;
  std::vector<int64_t> strides;
};

struct Arrangement {
  std::vector<int64_t> dims;  // of the framework's tensor
  int64_t axis = 0;
  std::vector<Block> blocks;
};

/// The framework's tensor.
Tensor arranged(const Tensor& tensor, const Arrangement& arrangement);
/// Puts the framework's tensor into bytes of the model's; false where it does not fit.
bool put_back(const Tensor& tensor, const Arrangement& arrangement, std::string& bytes);

/// A tensor by where its elements come from.
struct Origins {
  std::vector<int64_t> dims;
  std::vector<int64_t> elements;  // numbers that OriginFinder gave, 0 for the number zero

  int64_t size() const { return static_cast<int64_t>(elements.size()); }
};

/// One of the first dimension, without it.
Origins part_of(const Origins& all, int64_t index);
/// Equal parts of the first dimension, in another order.
Origins reordered(const Origins& all, const std::vector<int64_t>& order);
/// Elements from..to of the first dimension.
Origins slice_of(const Origins& all, int64_t from, int64_t to);
Origins transposed(const Origins& matrix);
/// Vectors as the rows of a matrix.
Origins stacked(const Origins& first, const Origins& second);
bool is_all_zeros(const Origins& origins);

/// A tensor of the model as a part of it holds.
struct Held {
  const Value* value;
  Arrangement arrangement;
};

/// Follows elements of initializers through nodes that only move them.
class OriginFinder {
 public:
  /// Nothing where it is computed in any other way.
  std::optional<Origins> find(const Value* value);

  /// The initializer that all elements are of, with their places; nothing where there are several,
  /// or the places are in no order.
  std::optional<Held> held(const Origins& wanted, int64_t axis) const;

  /// The initializer of the first element.
  const Value* first_of(const Origins& origins) const;

  /// Whether some tensors have all elements of all initializers that were found, each once, and
  /// nothing but `reader` reads these, and what was computed on the way.
  bool are_all(const std::vector<Origins>& tensors, const Node& reader) const;

 private:
  std::optional<Tensor> numbers(const Value* value);
  std::optional<Tensor> moved(const Node& node, const Value* value);

  std::vector<std::pair<const Value*, int64_t>> first_;  // initializers by their first numbers
  std::unordered_set<const Node*> nodes_;
  int64_t next_ = 1;
};

}  // namespace onward::emit
