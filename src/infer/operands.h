#pragma once

#include <optional>
#include <span>
#include <vector>

#include "infer/propagate.h"
#include "ir/graph.h"

namespace onward {

/// The operands of one node, as far as they are known: types and constants before it runs, tensors
/// when it does. What is asked of operands is asked through it, so that it is said once for both.
class Operands {
 public:
  Operands(const Node& node, const KnownData& known) : node_(node), known_(&known) {}
  Operands(const Node& node, std::span<const Tensor* const> tensors)
      : node_(node), tensors_(tensors) {}

  const Node& node() const { return node_; }
  bool has(size_t input) const {
    return known_ ? node_.input(input) != nullptr : input < tensors_.size() && tensors_[input];
  }

  /// Nothing where even the rank is unknown. Dimensions may be unknown one by one.
  std::optional<Shape> shape(size_t input) const;
  std::optional<int64_t> rank(size_t input) const;
  /// A dimension counted from the front; nothing where it is unknown or not there.
  std::optional<int64_t> dim(size_t input, size_t index) const;

  /// All numbers of an input, where they are known.
  std::optional<std::vector<double>> numbers(size_t input) const;

 private:
  const Node& node_;
  const KnownData* known_ = nullptr;
  std::span<const Tensor* const> tensors_;
};

}  // namespace onward
