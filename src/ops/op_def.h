#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "infer/infer.h"
#include "ops/builder.h"

namespace onward {

/// The gradients with respect to a node's inputs, in order; nothing for one that has none
/// (integers, conditions) or is left out. Shorter than the inputs where the rest has none. A float
/// that gets nothing is refused where it is to be differentiated by, but for OpDef::constant_in.
using Grads = std::vector<std::optional<Expr>>;

/// Differentiates graphs inside of a node, for the rules of operators that have some. It is what
/// differentiates the graph around them, which knows the rules.
class Differentiator {
 public:
  /// The gradients of sum(ys * dys) with respect to each of xs, null where none reaches it; ys are
  /// computed from xs before the place of `inside`. xs may be values of a graph around it.
  virtual std::vector<Value*> differentiate(const std::vector<Value*>& ys,
                                            const std::vector<Value*>& dys,
                                            const std::vector<Value*>& xs, Builder& inside) = 0;

 protected:
  ~Differentiator() = default;
};

/// What a gradient rule sees: the forward node, its values, and the gradients that came in.
class VjpContext {
 public:
  VjpContext(Node& node, Builder& builder, std::vector<Value*> output_gradients,
             Differentiator& differentiator)
      : node_(node),
        builder_(builder),
        output_gradients_(std::move(output_gradients)),
        differentiator_(differentiator) {}

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

  // For operators with subgraphs.
  Differentiator& differentiator() const { return differentiator_; }
  /// The gradient with respect to a value around the node that its subgraphs read.
  void add_captured(Value* captured, Expr gradient) const {
    captured_.emplace_back(captured, gradient);
  }
  const std::vector<std::pair<Value*, Expr>>& captured_gradients() const { return captured_; }

 private:
  Node& node_;
  Builder& builder_;
  std::vector<Value*> output_gradients_;
  Differentiator& differentiator_;
  mutable std::vector<std::pair<Value*, Expr>> captured_;
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
  /// The inputs (bit i for input i) that results do not depend on, or only in steps, wherever the
  /// rule gives nothing for them.
  uint32_t constant_in = 0;
};

/// A set of inputs, as OpDef::constant_in wants it.
constexpr uint32_t inputs_at(std::initializer_list<unsigned> indices) {
  uint32_t set = 0;
  for (const unsigned index : indices) set |= uint32_t{1} << index;
  return set;
}

/// All definitions, family by family.
std::span<const OpDef> op_defs();
const OpDef* find_op_def(std::string_view domain, std::string_view name);
inline const OpDef* find_op_def(const Node& node) { return find_op_def(node.domain, node.op); }

}  // namespace onward
