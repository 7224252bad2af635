#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "infer/partial_tensor.h"
#include "ir/model.h"

namespace onward {

/// Knows constants, and follows small integer tensors from node to node, so that the shapes which a
/// model computes (Shape, Gather, Concat, Reshape ...) can be inferred. A tensor of which only some
/// elements are known, or are known by a dimension's name, is followed too.
class KnownData {
 public:
  /// Larger constants are weights; no shape depends on their elements.
  static constexpr int64_t kMaxConstantElements = 4096;

  explicit KnownData(const Model& model);

  /// The elements of an initializer or a Constant node, where no run can change them and they are
  /// few; else null. State and defaults of inputs can change.
  const Tensor* constant(const Value& value) const;

  /// What is known of an integer or bool tensor of a known, small size.
  std::optional<PartialTensor> find(const Value& value) const;

  /// Finds out about the outputs of a node whose types are inferred.
  void follow(const Node& node);

  /// Takes note of what another rule has found out about a value.
  void keep(const Value& value, PartialTensor tensor);

 private:
  bool defaults_are_constants_;  // of inputs; IR 3 and older list every initializer as an input
  std::unordered_set<const Value*> state_;
  std::unordered_map<const Value*, Tensor> constants_;  // of Constant nodes
  std::unordered_map<const Value*, PartialTensor> followed_;
  int64_t kept_elements_ = 0;
};

/// What output `output` of a node holds, by the rule of its operator; nothing where none is known.
std::optional<PartialTensor> propagate(const Node& node, size_t output, const KnownData& known);

}  // namespace onward
