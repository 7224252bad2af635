#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ir/type.h"

namespace onward {

/// What is known of a small tensor of integers or truth values: its elements in row-major order,
/// each a number, a symbol, or unknown. A symbol always names a dimension, so it is never negative.
struct PartialTensor {
  /// Tensors that describe shapes are tiny; larger ones are not followed.
  static constexpr int64_t kMaxElements = 256;
  static constexpr size_t kMaxDims = 8;

  DType dtype = DType::i64;
  std::vector<int64_t> dims;
  std::vector<Dim> elements;

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  bool all_known() const {
    return std::ranges::all_of(elements, [](const Dim& e) { return e.value.has_value(); });
  }
  bool any_known() const {
    return std::ranges::any_of(elements, [](const Dim& e) { return e.value || !e.symbol.empty(); });
  }
};

/// True for tensors that are small enough, and of a type that a PartialTensor can hold.
bool can_be_partial(DType dtype, std::span<const int64_t> dims);

/// The element, or an unknown one where it may not fit the type.
Dim fitted(DType dtype, Dim element);

/// A tensor of `dims` of which nothing is known, or nothing where it would be too large.
std::optional<PartialTensor> unknown_elements(DType dtype, std::vector<int64_t> dims);

/// Builds a tensor by asking for the element at each position; nothing where it would be too large.
std::optional<PartialTensor> generate(DType dtype, std::vector<int64_t> dims,
                                      const std::function<Dim(std::span<const int64_t>)>& element);

/// The element that `position`, a place in a broadcast result, takes from `tensor`.
const Dim& broadcast_element(const PartialTensor& tensor, std::span<const int64_t> position);

/// The dimensions of the broadcast of several tensors, or nothing where they do not agree.
std::optional<std::vector<int64_t>> broadcast_dims(std::span<const PartialTensor> tensors);

}  // namespace onward
