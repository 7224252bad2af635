#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/model.h"

namespace onward {

/// The types of a graph's inputs in batches of so many examples.
struct BatchTypes {
  int64_t size = 0;
  std::map<std::string, Type, std::less<>> inputs;
};

/// What the elements of a value follow from.
enum class Rows : uint8_t {
  alike,  // from nothing that a batch brings
  sizes,  // from the number of examples, at most
  own,    // a dimension counts the examples, and a row follows from its own example alone
  mixed,  // from several examples; or nothing is known of it
};

/// Where a value of rows counts the examples: place (o * examples + n) * inner + i of dimension
/// `axis` is of example n, for o < outer and i < inner.
struct RowPlace {
  int64_t axis = 0, outer = 1, inner = 1;

  bool is_first() const { return axis == 0 && outer == 1 && inner == 1; }
  friend bool operator==(const RowPlace&, const RowPlace&) = default;
};

/// Whether a node gives other results for the same operands: it draws, or goes by statistics of
/// the batch.
bool varies(const Node& node);

/// Finds the values whose rows could be computed one at a time: what an operator does to a
/// dimension is known of each, and shapes are looked at in every size of batch.
class ExampleRows {
 public:
  /// Inputs whose first dimension is the size of the batch count its examples by it. Throws Error
  /// where the graph does not take such batches.
  ExampleRows(const Model& step, std::span<const BatchTypes> batches);

  Rows of(const Value* value) const;
  /// Of a value with rows of its own.
  const RowPlace& place(const Value* value) const { return places_.at(value); }
  /// The dimensions of a value in the batches number `batch`, where all are known.
  const std::optional<std::vector<int64_t>>& dims(const Value* value, size_t batch) const;

 private:
  friend class RowRules;

  void infer(const Model& step, const BatchTypes& batch);

  using Dims = std::optional<std::vector<int64_t>>;
  std::vector<int64_t> sizes_;
  std::unordered_map<const Value*, std::vector<Dims>> dims_;
  std::unordered_map<const Value*, Rows> rows_;
  std::unordered_map<const Value*, RowPlace> places_;
};

}  // namespace onward
