#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "infer/infer.h"
#include "ops/builder.h"
#include "ops/range.h"

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

  /// Whether a gradient with respect to that value, of the graph around, is asked for.
  virtual bool is_wanted(const Value* value) const = 0;

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
  /// The forward node itself, which a rule may let give more than it does.
  Node& forward() const { return node_; }
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
  Expr input(size_t index) const {
    const Expr x = builder_.expr(node_.input(index));
    return widens_ && is_float(x.dtype()) ? cast(x, wide_type(x.dtype())) : x;
  }
  /// The same node with its small floats in float32.
  ExpandContext widened() const {
    ExpandContext wide = *this;
    wide.widens_ = true;
    return wide;
  }

 private:
  const Node& node_;
  Builder& builder_;
  bool widens_ = false;
};

/// Says a node in plainer operators; gives its outputs in order.
using Expansion = std::vector<Expr> (*)(const ExpandContext&);

/// An expansion with sums, products or powers that small floats do not hold, though they hold the
/// results, which have the first input's type: in between it computes in float32.
template <Expansion kExpansion>
std::vector<Expr> in_float32(const ExpandContext& c) {
  std::vector<Expr> results;
  for (const Expr& wide : kExpansion(c.widened())) {
    results.push_back(cast(wide, c.input(0).dtype()));
  }
  return results;
}

/// What is known of an internal operator's outputs before a graph runs.
using TypeRule = ForeignRule;

// What holds of an operator whatever its attributes are, as a set of bits. Passes, plans and
// emitters ask for these instead of keeping lists of names; tests/ops/traits_test.cpp checks them
// against the cases.
using Traits = uint32_t;

/// Works with the dimensions in any order, all operands in the same one; attributes that count
/// dimensions follow.
inline constexpr Traits kAnyLayout = 1U << 0;
/// An element of the result depends on the operands' elements at its place alone.
inline constexpr Traits kElementwise = 1U << 1 | kAnyLayout;
/// Operands may have a smaller shape than the result; their gradients are summed to it.
inline constexpr Traits kBroadcasts = 1U << 2;
/// Gives its first input unchanged where the result has its type and shape.
inline constexpr Traits kKeepsSameType = 1U << 3;
/// The results are elements of the inputs whose role is data, moved, repeated, left out or
/// converted.
inline constexpr Traits kMovesData = 1U << 4;
/// The first input's elements in the same order, so that the result can share its memory.
inline constexpr Traits kView = 1U << 5 | kKeepsSameType | kMovesData;
/// The first input's elements with the dimensions in another order.
inline constexpr Traits kPermutes = 1U << 6 | kMovesData;
/// Draws random numbers: computed twice, it gives different results.
inline constexpr Traits kRandom = 1U << 7;
/// Takes and gives images: a batch, channels, then spatial dimensions.
inline constexpr Traits kImages = 1U << 8;
/// Slides a window over the spatial dimensions of its input: kernel_shape, strides, pads, auto_pad.
inline constexpr Traits kWindows = 1U << 9 | kImages;
/// Its gradient is not the slope of what it computes, but an estimate that is agreed on: what a
/// framework computes itself would have another one.
inline constexpr Traits kStraightThrough = 1U << 10;
/// The result has the first operand's shape, which the others broadcast to.
inline constexpr Traits kBroadcastsToFirst = 1U << 11 | kBroadcasts;

/// What an input is for.
enum class InputRole : uint8_t {
  data,
  // What a layer learns.
  weight,
  recurrent_weight,
  peephole_weight,
  bias,
  scale,
  slope,
  embedding,
  // What it keeps of the batches.
  running_mean,
  running_variance,
  // What is never learned.
  label,
  class_weight,
  index,    // positions and axes
  shape,    // sizes and counts
  setting,  // conditions, limits, fill values, lengths
};

/// As messages call it: "running mean".
std::string_view name(InputRole role);

/// The roles of an operator's inputs in order; the last one holds for all that follow.
class InputRoles {
 public:
  constexpr InputRoles(std::initializer_list<InputRole> roles) : count_(roles.size()) {
    std::ranges::copy(roles, roles_.begin());
  }

  constexpr InputRole of(size_t input) const { return roles_[std::min(input, count_ - 1)]; }
  constexpr size_t count() const { return count_; }

 private:
  std::array<InputRole, 8> roles_ = {};
  size_t count_;
};

/// What Onward knows of an operator, beyond the standard's schema.
struct OpDef {
  std::string_view name;
  std::string_view domain = {};
  Vjp vjp = nullptr;
  Expansion expansion = nullptr;
  TypeRule types = nullptr;  // of internal operators; the standard's have their schema
  Traits traits = 0;
  InputRoles inputs = {InputRole::data};
  /// Of an operator that does otherwise in training: whether a node is to.
  bool (*trains)(const Node&) = nullptr;
  /// Where results lie, of an elementwise operator; without it they may be infinite.
  RangeRule range = nullptr;
  /// Why there is nothing to differentiate, and no mistake: "its result is true or false".
  std::string_view no_gradient = {};
  /// The inputs (bit i for input i) that results do not depend on, or only in steps, wherever the
  /// rule gives nothing for them.
  uint32_t constant_in = 0;
  /// Why the operator can't be differentiated yet, nor as a rule computed.
  std::string_view missing = {};

  bool has(Traits wanted) const { return (traits & wanted) == wanted; }
};

/// A set of inputs, as OpDef::constant_in wants it.
constexpr uint32_t inputs_at(std::initializer_list<unsigned> indices) {
  uint32_t set = 0;
  for (const unsigned index : indices) set |= uint32_t{1} << index;
  return set;
}

/// All definitions, family by family; also those of operators that are missing.
std::span<const OpDef> op_defs();
const OpDef* find_op_def(std::string_view domain, std::string_view name);
inline const OpDef* find_op_def(const Node& node) { return find_op_def(node.domain, node.op); }

/// Whether the node's operator has these traits.
bool has_traits(const Node& node, Traits wanted);
/// The role of a node's input; data where the operator is unknown.
InputRole input_role(const Node& node, size_t input);
/// Whether the node does what its operator does in training alone.
bool is_in_training(const Node& node);

}  // namespace onward
