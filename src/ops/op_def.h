#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "infer/infer.h"
#include "ops/builder.h"

namespace onward {

/// The gradients with respect to a node's inputs, in order; nothing for one that has none
/// (integers, conditions) or is left out. Shorter than the inputs where the rest has none.
using Grads = std::vector<std::optional<Expr>>;

/// What a gradient rule sees: the forward node, its values, and the gradients that came in.
class VjpContext {
 public:
  VjpContext(Node& node, Builder& builder, Names& names, std::vector<Value*> output_gradients)
      : node_(node),
        builder_(builder),
        names_(names),
        output_gradients_(std::move(output_gradients)) {}

  const Node& node() const { return node_; }
  Builder& builder() const { return builder_; }

  bool has_input(size_t index) const { return node_.input(index) != nullptr; }
  Expr input(size_t index) const { return builder_.expr(node_.input(index)); }
  Expr output(size_t index) const { return builder_.expr(node_.output(index)); }

  /// An optional output that the rule needs: the forward node gives it from now on.
  Expr demanded_output(size_t index, DType dtype) const;

  /// Whether anything depends on that output.
  bool has_grad(size_t index) const {
    return index < output_gradients_.size() && output_gradients_[index];
  }
  /// The gradient with respect to that output; only where has_grad.
  Expr grad(size_t index) const { return builder_.expr(output_gradients_[index]); }

  int64_t attribute(std::string_view name, int64_t fallback) const {
    return node_.int_or(name, fallback);
  }

 private:
  Node& node_;
  Builder& builder_;
  Names& names_;
  std::vector<Value*> output_gradients_;
};

/// Gives the gradients with respect to a node's inputs, given those of its outputs. A rule says
/// only the mathematics: the driver sums over broadcast dimensions, adds up, names and skips.
using Vjp = Grads (*)(const VjpContext&);

/// What an expansion sees.
class ExpandContext {
 public:
  ExpandContext(const Node& node, Builder& builder) : node_(node), builder_(builder) {}

  const Node& node() const { return node_; }
  Builder& builder() const { return builder_; }
  bool has_input(size_t index) const { return node_.input(index) != nullptr; }
  Expr input(size_t index) const { return builder_.expr(node_.input(index)); }

 private:
  const Node& node_;
  Builder& builder_;
};

/// Says a node in plainer operators; gives its outputs in order.
using Expansion = std::vector<Expr> (*)(const ExpandContext&);

/// What is known of an internal operator's outputs before a graph runs.
using TypeRule = ForeignRule;

/// What Onward knows of an operator, beyond the standard's schema.
struct OpDef {
  std::string_view name;
  std::string_view domain = {};
  Vjp vjp = nullptr;
  Expansion expansion = nullptr;
  TypeRule types = nullptr;  // of internal operators; the standard's have their schema
  bool broadcasts = false;   // gradients may have a larger shape than the inputs: they are summed
  /// Integer, boolean or piecewise constant results: nothing to differentiate, and no mistake.
  bool no_gradient = false;
};

/// All definitions, family by family.
std::span<const OpDef> op_defs();
const OpDef* find_op_def(std::string_view domain, std::string_view name);
inline const OpDef* find_op_def(const Node& node) { return find_op_def(node.domain, node.op); }

}  // namespace onward
