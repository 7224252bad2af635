#pragma once

// Integers that the sizes of tensors make: what Shape, Gather, Concat and the like compute becomes
// "x.shape[0]" in the source.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emit/known.h"

namespace onward::emit {

/// One integer: a number, the size of a dimension, or a product, sum or quotient of such.
struct Size {
  std::optional<int64_t> number = {};
  std::string symbol = {};  // of a dimension of the model's inputs; any tensor that has it will do
  const Value* base = nullptr;  // else the tensor whose dimension it is
  size_t axis = 0;
  char op = 0;  // '+', '-', '*', '/': of two parts
  std::vector<Size> parts = {};
};

class Sizes {
 public:
  /// `known` outlives it.
  Sizes(const Graph& graph, const Known& known);

  /// The elements of a value that is made of sizes; null for others, and for what is known anyway.
  const std::vector<Size>* find(const Value* value) const;

  /// The tensors that must be there for it, where it is made of their sizes.
  std::vector<const Value*> bases(const Value* value) const;

 private:
  using Elements = std::vector<Size>;

  std::optional<Elements> elements(const Value* value) const;
  std::optional<Elements> computed(const Node& node) const;
  Size dimension(const Value* value, size_t axis) const;

  const Known& known_;
  std::unordered_map<std::string, bool> symbols_;  // of the inputs
  std::unordered_map<const Value*, Elements> sizes_;
};

}  // namespace onward::emit
